// The library consists of src/emulator/hip; a shared library must have a source.
