// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinkLibrary.cpp - From an object to a shared library ---------------===//
//
// Links the object with the runtime by a linker of this machine.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/Emit.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"
#include <dlfcn.h>

using namespace gatefold;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// Where this code lies: the program, and the library that it is in.
static llvm::SmallVector<std::string> findHomes() {
  llvm::SmallVector<std::string> homes;
  static char anchor;
  homes.push_back(
      path::parent_path(fs::getMainExecutable(nullptr, &anchor)).str());
  Dl_info info;
  if (dladdr(&anchor, &info) && info.dli_fname) {
    llvm::SmallString<256> real;
    if (!fs::real_path(info.dli_fname, real))
      homes.push_back(path::parent_path(real).str());
  }
  return homes;
}

/// The archive of the runtime, beside the program in a build or an
/// installation.
static llvm::Expected<std::string> findRuntime() {
  constexpr llvm::StringLiteral name = "libgatefold_runtime.a";
  std::string triple = llvm::sys::getDefaultTargetTriple();
  llvm::SmallVector<std::string> folders = {".",
                                            "../lib",
                                            "../lib64",
                                            "../lib/" + triple,
                                            "../lib/x86_64-linux-gnu",
                                            "../lib/aarch64-linux-gnu"};
  for (const std::string &home : findHomes())
    for (const std::string &folder : folders) {
      llvm::SmallString<256> candidate(home);
      path::append(candidate, folder, name);
      path::remove_dots(candidate, /*remove_dot_dot=*/true);
      if (fs::exists(candidate))
        return candidate.str().str();
    }
  return llvm::createStringError(
      "cannot find %s in ../lib from %s: the library needs it", name.data(),
      findHomes().front().c_str());
}

/// A library of the C library, for a linker that does not know its folders.
static llvm::Expected<std::string> findSystemLibrary(llvm::StringRef name) {
  for (llvm::StringRef folder :
       {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64",
        "/usr/lib64", "/lib", "/usr/lib"}) {
    std::string candidate = (folder + "/" + name).str();
    if (fs::exists(candidate))
      return candidate;
  }
  return llvm::createStringError("cannot find %s", name.str().c_str());
}

/// The linker's command, up to the output.
static llvm::Expected<llvm::SmallVector<std::string>>
makeCommand(llvm::StringRef object, llvm::StringRef runtime,
            llvm::StringRef output, llvm::StringRef libraryName) {
  const llvm::StringRef linkerOptions[] = {"-Bsymbolic",
                                           "--exclude-libs=ALL",
                                           "--gc-sections",
                                           "--no-undefined",
                                           "--as-needed",
                                           "--build-id=none",
                                           "-soname",
                                           libraryName,
                                           "-z",
                                           "now",
                                           "-z",
                                           "relro",
                                           "-z",
                                           "noexecstack"};
  llvm::SmallVector<std::string> command;
  for (llvm::StringRef name :
       {"cc", "clang-22", "clang", "gcc", "/usr/lib/llvm-22/bin/clang"}) {
    auto program = llvm::sys::findProgramByName(name);
    if (!program)
      continue;
    command = {*program,     "-shared",    "-o",
               output.str(), object.str(), runtime.str()};
    for (llvm::StringRef option : linkerOptions) {
      command.push_back("-Xlinker");
      command.push_back(option.str());
    }
    command.push_back("-lm");
    return command;
  }
  for (llvm::StringRef name :
       {"ld.lld-22", "ld.lld", "/usr/lib/llvm-22/bin/ld.lld"}) {
    auto program = llvm::sys::findProgramByName(name);
    if (!program)
      continue;
    command = {*program,     "-shared",    "-o",
               output.str(), object.str(), runtime.str()};
    for (llvm::StringRef option : linkerOptions)
      command.push_back(option.str());
    for (llvm::StringRef library : {"libm.so.6", "libc.so.6"}) {
      llvm::Expected<std::string> file = findSystemLibrary(library);
      if (!file)
        return file.takeError();
      command.push_back(*file);
    }
    return command;
  }
  return llvm::createStringError(
      "cannot find a linker: looked for cc, clang-22, clang, gcc, ld.lld-22 "
      "and ld.lld");
}

/// The linker's words, at most so many that an error stays readable.
static std::string readWords(llvm::StringRef file) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return "";
  return (*buffer)->getBuffer().trim().take_front(4000).str();
}

llvm::Error gatefold::linkLibrary(const llvm::MemoryBuffer &object,
                                  const EmitOptions &options,
                                  llvm::StringRef output) {
  auto parsed =
      llvm::object::ObjectFile::createObjectFile(object.getMemBufferRef());
  if (!parsed)
    return parsed.takeError();
  llvm::Triple host(llvm::sys::getDefaultTargetTriple());
  if ((*parsed)->getArch() != host.getArch())
    return llvm::createStringError(
        "not compiled yet: a library for target '%s' on this machine; the "
        "object can be linked there",
        options.target.c_str());
  llvm::Expected<std::string> runtime = findRuntime();
  if (!runtime)
    return runtime.takeError();

  llvm::SmallString<128> objectPath, wordsPath;
  if (auto code = fs::createTemporaryFile(options.name, "o", objectPath))
    return llvm::createStringError(code, "cannot make a temporary file");
  llvm::FileRemover removeObject(objectPath);
  if (auto code = fs::createTemporaryFile(options.name, "txt", wordsPath))
    return llvm::createStringError(code, "cannot make a temporary file");
  llvm::FileRemover removeWords(wordsPath);
  {
    std::error_code code;
    llvm::raw_fd_ostream stream(objectPath, code);
    if (!code)
      stream << object.getBuffer();
    stream.close();
    if (code || stream.has_error()) {
      code = code ? code : stream.error();
      stream.clear_error();
      return llvm::createStringError(code, "cannot write %s: %s",
                                     objectPath.c_str(),
                                     code.message().c_str());
    }
  }

  // Beside the output, so that it can be renamed.
  llvm::SmallString<128> temporary;
  if (auto code = fs::createUniqueFile(output + ".%%%%%%.tmp", temporary))
    return llvm::createStringError(code, "cannot write %s: %s",
                                   output.str().c_str(),
                                   code.message().c_str());
  llvm::FileRemover removeTemporary(temporary);
  auto command =
      makeCommand(objectPath, *runtime, temporary, path::filename(output));
  if (!command)
    return command.takeError();
  llvm::SmallVector<llvm::StringRef> arguments(command->begin(),
                                               command->end());
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(), wordsPath.str(), wordsPath.str()};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(arguments.front(), arguments,
                                         /*Env=*/std::nullopt, redirects,
                                         /*SecondsToWait=*/300,
                                         /*MemoryLimit=*/0, &message);
  if (status != 0)
    return llvm::createStringError("%s failed (%d)%s%s: %s",
                                   arguments.front().str().c_str(), status,
                                   message.empty() ? "" : " ", message.c_str(),
                                   readWords(wordsPath).c_str());
  // A library is as readable as any file that the user makes.
  fs::perms mask = static_cast<fs::perms>(fs::getUmask());
  if (auto code = fs::setPermissions(
          temporary,
          static_cast<fs::perms>(
              (fs::all_read | fs::all_exe | fs::owner_write) & ~mask)))
    return llvm::createStringError(code, "cannot write %s: %s",
                                   output.str().c_str(),
                                   code.message().c_str());
  if (auto code = fs::rename(temporary, output))
    return llvm::createStringError(code, "cannot write %s: %s",
                                   output.str().c_str(),
                                   code.message().c_str());
  removeTemporary.releaseFile();
  return llvm::Error::success();
}
