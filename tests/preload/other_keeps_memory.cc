// Stands for a library that has taken cudaMalloc over, and may keep what is freed.
extern "C" {
__attribute__((visibility("default"))) int cudaMalloc(void**, unsigned long) { return 2; }
}
