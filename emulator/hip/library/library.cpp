// The library consists of emulator/hip; a shared library must have a source.
