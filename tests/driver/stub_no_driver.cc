// A shared object that is no driver.
extern "C" __attribute__((visibility("default"))) int something_else() { return 0; }
