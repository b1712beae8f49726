// Makes "cuda" a device that torch's CPU build can trace for: it has a guard, hooks and a choice of
// attention kernels, and executes nothing. Loaded with RTLD_GLOBAL before torch (benchmarks/fake_cuda.py).
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace at {

struct CUDAHooks final : CUDAHooksInterface {
  explicit CUDAHooks(CUDAHooksArgs) {}
  bool hasCUDA() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return false; }
  DeviceIndex deviceCount() const override { return 1; }
  DeviceIndex getCurrentDevice() const override { return 0; }
  int getNumGPUs() const override { return 1; }
};
C10_REGISTER_CLASS(CUDAHooksRegistry, CUDAHooks, CUDAHooks)

namespace accelerator {
// Stands before libtorch's own, which knows of no accelerator: the autograd engine asks for it.
__attribute__((visibility("default"))) std::optional<c10::DeviceType> getAccelerator(bool) {
  return c10::DeviceType::CUDA;
}
}  // namespace accelerator
}  // namespace at

namespace {

const c10::Device kDevice{c10::DeviceType::CUDA, 0};

struct TracedGuard final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> {
  c10::Device getDevice() const override { return kDevice; }
  c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
  c10::Stream getStream(c10::Device) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, kDevice);
  }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return getStream(kDevice); }
};

TracedGuard guard;

// What a recent GPU takes: none of its kernels where a last dimension is not contiguous (a mask that is
// repeated for all keys), flash attention for halves without a mask, whose values are as wide as queries, else
// the memory-efficient kernel, which knows no heads of queries that share keys: cuDNN's does, of halves.
int64_t choose_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                         const std::optional<at::Tensor>& mask, double, bool, std::optional<double>, bool) {
  const bool half = query.scalar_type() == at::kHalf || query.scalar_type() == at::kBFloat16;
  constexpr int64_t kMath = 0, kFlash = 1, kEfficient = 2, kCudnn = 3;  // of enum SDPBackend
  for (const auto& tensor : {query, key, value, mask.value_or(query)}) {
    if (tensor.sym_stride(-1) != 1) return kMath;
  }
  if (half && !mask.has_value() && query.sym_size(-1) == value.sym_size(-1)) return kFlash;
  if (query.dim() == 4 && query.sym_size(1) != key.sym_size(1)) return half ? kCudnn : kMath;
  return kEfficient;
}

}  // namespace

extern "C" void install() {
  static c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::CUDA, &guard);
  at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choose_attention);
}
