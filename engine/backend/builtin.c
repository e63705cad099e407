#include "engine/backend/builtin.h"

const struct gr_backend *const gr_backends_builtin[] = {
#ifdef GR_HAVE_CUDA
    &gr_backend_cuda,
#endif
    &gr_backend_host,
    NULL,
};
