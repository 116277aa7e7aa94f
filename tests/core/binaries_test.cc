// What the kernel and the C library hold against faults of ours, read off the programs themselves.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace cigri {
namespace {

namespace fs = std::filesystem;

std::string Readelf(const fs::path& program) {
  const std::string command =
      "LC_ALL=C readelf --wide --file-header --program-headers --dynamic --dyn-syms " +
      program.string() + " 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 65536> part{};
  while (const std::size_t n = fread(part.data(), 1, part.size(), pipe.get()))
    text.append(part.data(), n);
  return text;
}

// The line of `text` that begins with `word`, blanks apart.
std::string Line(const std::string& text, const std::string& word) {
  const auto at = text.find("  " + word);
  return at == text.npos ? "" : text.substr(at, text.find('\n', at) - at);
}

TEST(BinariesTest, EveryProgramIsHardened) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "built with sanitizers instead";
#endif
  int programs = 0, fortified = 0;
  for (const auto& entry : fs::directory_iterator(CIGRI_BIN_DIR)) {
    const std::string elf = Readelf(entry.path()), name = entry.path().filename();
    if (elf.find("ELF Header") == elf.npos) continue;
    ++programs;
    EXPECT_NE(Line(elf, "Type:").find("DYN "), std::string::npos)
        << name << " has a fixed address: link it with -pie";
    EXPECT_NE(Line(elf, "GNU_RELRO"), "") << name << ": link it with -z relro";
    EXPECT_NE(elf.find("BIND_NOW"), std::string::npos) << name << ": link it with -z now";
    EXPECT_EQ(Line(elf, "GNU_STACK").find("RWE"), std::string::npos) << name << ": stack runs code";
    const bool is_static = Line(elf, "INTERP").empty();
    EXPECT_EQ(is_static, name == "cigri-job") << name << ": root starts cigri-job for every user";
    EXPECT_TRUE(is_static || elf.find(" __stack_chk_fail@") != elf.npos)
        << name << ": compile it with -fstack-protector-strong";
    fortified += elf.find("_chk@GLIBC") != elf.npos ? 1 : 0;
  }
  EXPECT_GT(programs, 0);
#ifdef NDEBUG
  EXPECT_GT(fortified, programs / 4) << "compile them with -D_FORTIFY_SOURCE=2";
#endif
}

}  // namespace
}  // namespace cigri
