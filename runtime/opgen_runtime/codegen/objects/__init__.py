"""LLVM text to object code, the cache of objects, object code in memory, and the native code of the runtime itself."""
