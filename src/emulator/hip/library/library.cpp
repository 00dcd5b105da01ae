// The library consists of src/emulator/hip; a shared library needs a source of its own.
