// A program that has nothing to do with CUDA. For any C library.
#include <stdio.h>

int main(int count, char** words) {
  char line[64] = "";
  if (fgets(line, sizeof(line), stdin) == NULL) line[0] = 0;
  printf("%d words, %s read %s\n", count, words[0], line);
  fprintf(stderr, "err\n");
  return 3;
}
