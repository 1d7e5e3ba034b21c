// Precompiled headers belong to a target that compiles something.
