/* Runs a model with a library of custom ops, by onnxruntime's C API alone: main ORT LIBRARY MODEL.
   The model takes x: float32[rows, 4] and gives y: float32[rows, 4]; prints it for x counting up, for 1 to 3 rows. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void *Any;
typedef struct { const Any *(*get_api)(uint32_t); const char *(*version)(void); } Base;

/* positions in OrtApi */
enum { MESSAGE = 2, CREATE_ENV = 3, CREATE_SESSION = 7, RUN = 9, CREATE_OPTIONS = 10, REGISTER = 29, TENSOR = 49,
       DATA = 51, COUNT = 64, TYPE = 65, MEMORY = 69 };

static const Any *api;

static void check(Any status) {
  if (!status) return;
  fprintf(stderr, "%s\n", ((const char *(*)(Any))api[MESSAGE])(status));
  exit(1);
}

int main(int count, char **arguments) {
  Any library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (count != 4 || !library) { fprintf(stderr, "%s\n", dlerror()); return 2; }
  const Base *base = ((const Base *(*)(void))dlsym(library, "OrtGetApiBase"))();
  api = base->get_api(16);
  Any env, options, session, memory, handle, input, output = 0, info;
  check(((Any (*)(int, const char *, Any *))api[CREATE_ENV])(3, "test", &env));
  check(((Any (*)(Any *))api[CREATE_OPTIONS])(&options));
  check(((Any (*)(Any, const char *, Any *))api[REGISTER])(options, arguments[2], &handle));
  check(((Any (*)(Any, const char *, Any, Any *))api[CREATE_SESSION])(env, arguments[3], options, &session));
  check(((Any (*)(int, int, Any *))api[MEMORY])(0, 0, &memory));
  for (int64_t rows = 1; rows <= 3; rows++) {
    float data[12], *found;
    int64_t shape[2] = {rows, 4};
    const char *takes[1] = {"x"}, *gives[1] = {"y"};
    size_t elements;
    for (int k = 0; k < 12; k++) data[k] = (float)k;
    output = 0;
    check(((Any (*)(Any, void *, size_t, const int64_t *, size_t, int, Any *))api[TENSOR])(
        memory, data, (size_t)rows * 16, shape, 2, 1, &input));
    check(((Any (*)(Any, Any, const char *const *, Any const *, size_t, const char *const *, size_t, Any *))api[RUN])(
        session, 0, takes, &input, 1, gives, 1, &output));
    check(((Any (*)(Any, Any *))api[TYPE])(output, &info));
    check(((Any (*)(Any, size_t *))api[COUNT])(info, &elements));
    check(((Any (*)(Any, void **))api[DATA])(output, (void **)&found));
    for (size_t k = 0; k < elements; k++) printf("%.9g ", found[k]);
    printf("\n");
  }
  return 0;
}
