// A C library to link bystander.c against: of glibc's names, without versions. None of it runs.
void *stdin, *stderr;
void fgets(void) {}
void fprintf(void) {}
void printf(void) {}
void memset(void) {}  // Compilers call it on their own.
void __libc_start_main(void) {}
