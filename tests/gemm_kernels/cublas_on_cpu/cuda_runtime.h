// Memory of the host in place of a GPU's, as far as gemm_kernels/host/cublas.cu needs it.
#pragma once
#include <cstdlib>
#include <cstring>
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
template <class Element> int cudaMalloc(Element **where, size_t bytes) { return (*where = (Element *)std::malloc(bytes)) == nullptr; }
inline int cudaFree(void *where) { return std::free(where), 0; }
inline int cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) { return std::memcpy(to, from, bytes), 0; }
