// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EmitFatbin.cpp - Machine code and PTX in one image -----------------===//
//
// What a driver loads: of a fatbin it takes the machine code if that is for its
// GPU, else it compiles the PTX. NVIDIA's `fatbinary` writes it, since the
// format is nowhere documented.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/EmitKernels.h"
#include "passes/emit/NvidiaTools.h"

using namespace gatefold;

llvm::Expected<MachineCode> gatefold::emitFatbin(const llvm::MemoryBuffer &ptx,
                                                 llvm::StringRef target) {
  auto program = findNvidiaTool("fatbinary");
  if (!program)
    return llvm::createStringError("a fatbin needs " +
                                   llvm::toString(program.takeError()));
  auto cubin = assemblePtx(ptx, target);
  if (!cubin)
    return cubin.takeError();
  auto code = TemporaryFile::create("cubin", cubin->code->getBuffer());
  if (!code)
    return code.takeError();
  auto text = TemporaryFile::create("ptx", ptx.getBuffer());
  if (!text)
    return text.takeError();
  auto output = TemporaryFile::create("fatbin");
  if (!output)
    return output.takeError();
  std::string image = "sm=" + target.drop_front(strlen("sm_")).str() + ",file=";
  auto done = runTool(*program, {"-64", "--create=" + output->path(),
                                 "--image3=kind=elf," + image + code->path(),
                                 "--image3=kind=ptx," + image + text->path()});
  if (!done)
    return done.takeError();
  auto made = output->read();
  if (!made)
    return made.takeError();
  return MachineCode{std::move(*made), std::move(cubin->spills)};
}

llvm::Expected<DeviceImage>
gatefold::emitDeviceImage(std::unique_ptr<llvm::MemoryBuffer> ptx,
                          llvm::StringRef target) {
  DeviceImage image;
  for (llvm::StringRef tool : {"ptxas", "fatbinary"})
    if (auto found = findNvidiaTool(tool); !found) {
      image.missing = llvm::toString(found.takeError());
      image.code = std::move(ptx);
      return image;
    }
  auto fatbin = emitFatbin(*ptx, target);
  if (!fatbin)
    return fatbin.takeError();
  image.code = std::move(fatbin->code);
  image.spills = std::move(fatbin->spills);
  return image;
}
