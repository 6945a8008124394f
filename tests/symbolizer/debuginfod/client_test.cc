// debuginfod against a server on the loopback interface: what it has is taken and kept; whatever it
// does wrong costs that file only, is bounded, and is not asked again at once.
#include "symbolizer/debuginfod/client.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "absl/time/clock.h"
#include "symbolizer/build_id.h"
#include "tests/symbolizer/debuginfod/loopback_server.h"
#include "tests/symbolizer/made_elf.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::debuginfod {
namespace {

using test::LoopbackServer;

constexpr char kId[] = "0123456789abcdef0123456789abcdef01234567";
constexpr char kOtherId[] = "1123456789abcdef0123456789abcdef01234567";

// An ELF file of that build id.
std::string DebugFileOf(const std::string& id, size_t more_bytes = 0) {
  test::Bytes note;
  note.U32(4).U32(id.size() / 2).U32(NT_GNU_BUILD_ID).Text("GNU");
  for (size_t i = 0; i < id.size(); i += 2) note.U8(std::stoul(id.substr(i, 2), nullptr, 16));
  test::Bytes filler;
  for (size_t i = 0; i < more_bytes; ++i) filler.U8(i);
  const std::vector<uint8_t> file =
      test::MakeElf({{.name = ".note.gnu.build-id", .bytes = note, .type = SHT_NOTE},
                     {.name = ".filler", .bytes = filler, .flags = 0}});
  return {file.begin(), file.end()};
}

std::string IdOf(const std::string& path) {
  const std::string prefix = "/buildid/", suffix = "/debuginfo";
  if (!path.starts_with(prefix) || !path.ends_with(suffix)) return {};
  return path.substr(prefix.size(), path.size() - prefix.size() - suffix.size());
}

void SendFile(const LoopbackServer::Send& send, const std::string& file) {
  send(LoopbackServer::Head("200 OK", fmt::format("Content-Length: {}\r\n", file.size())) + file);
}

class Debuginfod : public testing::Test {
 protected:
  ClientSettings Settings(const std::vector<std::string>& urls) {
    ClientSettings settings;
    settings.urls = urls;
    settings.directory = directory_.File("cache");
    settings.file.slow = absl::Seconds(1);
    return settings;
  }
  // Asks, waits for the end of the download, asks again.
  static Answer Fetch(Client& client, const std::string& id) {
    EXPECT_TRUE(client.Find(id).is_pending);
    EXPECT_TRUE(client.WaitUntilIdle(absl::Now() + absl::Seconds(60)));
    return client.Find(id);
  }
  // That a server does wrong in this way is a failure, and is not asked for again at once.
  void ExpectFailure(const LoopbackServer::Handler& handler, uint64_t most_bytes,
                     const std::function<void(ClientSettings&)>& change = {}) {
    const LoopbackServer server(handler);
    ClientSettings settings = Settings({server.url()});
    if (change) change(settings);
    const auto client = Client::Create(settings);
    ASSERT_TRUE(client.ok()) << client.status();
    const Answer answer = Fetch(**client, kId);
    EXPECT_EQ(answer.file, nullptr);
    EXPECT_FALSE(answer.is_pending);
    EXPECT_EQ((*client)->counts().failed, 1u);
    EXPECT_LE((*client)->counts().bytes, most_bytes);
    EXPECT_EQ(server.paths().size(), 1u);
    EXPECT_TRUE(std::filesystem::is_empty(settings.directory));
  }
  test::TemporaryDirectory directory_;
};

TEST_F(Debuginfod, AFileIsFetchedOnceAndKept) {
  const LoopbackServer server([](const std::string& path, const LoopbackServer::Send& send) {
    SendFile(send, DebugFileOf(IdOf(path)));
  });
  for (int round = 0; round < 2; ++round) {  // The second client finds it on disk.
    const auto client = Client::Create(Settings({server.url()}));
    ASSERT_TRUE(client.ok()) << client.status();
    const Answer answer = round == 0 ? Fetch(**client, kId) : (*client)->Find(kId);
    ASSERT_NE(answer.file, nullptr);
    const auto image = ElfImage::Create(*answer.file);
    ASSERT_TRUE(image.ok());
    EXPECT_EQ(GnuBuildId(*image), kId);
  }
  EXPECT_EQ(server.paths(), std::vector<std::string>{fmt::format("/buildid/{}/debuginfo", kId)});
}

// A file of this host that would be the very one asked for: no server may name it.
TEST_F(Debuginfod, ARedirectLeadsToNoFileAndToNoOtherProtocol) {
  const std::string local = directory_.Write("local.debug", DebugFileOf(kId));
  for (const std::string& target :
       {"file://" + local, std::string("ftp://127.0.0.1:1/x"), std::string("dict://127.0.0.1:1/x")})
    ExpectFailure(
        [&](const std::string&, const LoopbackServer::Send& send) {
          send(LoopbackServer::Head("302 Found",
                                    "Location: " + target + "\r\nContent-Length: 0\r\n"));
        },
        0);
  // To another server is what servers do.
  const LoopbackServer full([](const std::string&, const LoopbackServer::Send& send) {
    SendFile(send, DebugFileOf(kId));
  });
  const LoopbackServer first([&](const std::string& path, const LoopbackServer::Send& send) {
    send(LoopbackServer::Head("302 Found",
                              "Location: " + full.url() + path + "\r\nContent-Length: 0\r\n"));
  });
  const auto client = Client::Create(Settings({first.url()}));
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_NE(Fetch(**client, kId).file, nullptr);
}

TEST_F(Debuginfod, WhatAServerDoesNotHaveTheNextMayHave) {
  const LoopbackServer empty([](const std::string&, const LoopbackServer::Send& send) {
    send(LoopbackServer::Head("404 Not Found", "Content-Length: 0\r\n"));
  });
  const LoopbackServer full([](const std::string& path, const LoopbackServer::Send& send) {
    if (IdOf(path) == kId) return SendFile(send, DebugFileOf(kId));
    send(LoopbackServer::Head("404 Not Found", "Content-Length: 0\r\n"));
  });
  const auto client = Client::Create(Settings({empty.url(), full.url() + "/"}));
  ASSERT_TRUE(client.ok());
  EXPECT_NE(Fetch(**client, kId).file, nullptr);
  const Answer none = Fetch(**client, kOtherId);
  EXPECT_EQ(none.file, nullptr);
  EXPECT_FALSE(none.is_pending);
  EXPECT_FALSE((*client)->Find(kOtherId).is_pending) << "a no is believed";
  EXPECT_EQ((*client)->counts().downloaded, 1u);
  EXPECT_EQ((*client)->counts().not_found, 1u);
  EXPECT_EQ(empty.paths().size(), 2u);
}

TEST_F(Debuginfod, AskingNeverWaitsForAServerThatHangs) {
  const auto hang = [](const std::string&, const LoopbackServer::Send& send) {
    while (send("")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  ExpectFailure(hang, 0);
  // And the end does not either: this one is in the middle of it.
  const LoopbackServer server(hang);
  ClientSettings settings = Settings({server.url()});
  settings.file.slow = absl::Hours(1);
  settings.file.whole = absl::Hours(1);
  const auto client = Client::Create(settings);
  ASSERT_TRUE(client.ok());
  EXPECT_TRUE((*client)->Find(kId).is_pending);
  EXPECT_FALSE((*client)->WaitUntilIdle(absl::Now() + absl::Milliseconds(50)));
  EXPECT_TRUE((*client)->Find(kId).is_pending);
}

TEST_F(Debuginfod, ASlowAnswerEnds) {
  ExpectFailure(
      [](const std::string&, const LoopbackServer::Send& send) {
        send(LoopbackServer::Head("200 OK", "Content-Length: 1000000\r\n"));
        while (send("x")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      },
      100'000);
}

TEST_F(Debuginfod, AnAnswerThatTakesTooLongEnds) {
  ExpectFailure(
      [](const std::string&, const LoopbackServer::Send& send) {
        send(LoopbackServer::Head("200 OK"));
        while (send(std::string(4096, 'x')))
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
      },
      uint64_t{512} << 20,
      [](ClientSettings& settings) { settings.file.whole = absl::Seconds(1); });
}

TEST_F(Debuginfod, HugeAnswersEnd) {
  const auto limit = [](ClientSettings& settings) { settings.file.max_bytes = 1 << 20; };
  ExpectFailure(  // It says so.
      [](const std::string&, const LoopbackServer::Send& send) {
        send(LoopbackServer::Head("200 OK", "Content-Length: 1000000000000\r\n"));
        while (send(std::string(65536, 'x'))) {
        }
      },
      2 << 20, limit);
  ExpectFailure(  // It does not say so.
      [](const std::string&, const LoopbackServer::Send& send) {
        send(LoopbackServer::Head("200 OK"));
        while (send(std::string(65536, 'x'))) {
        }
      },
      2 << 20, limit);
}

TEST_F(Debuginfod, GarbageIsThrownAway) {
  const auto send_file = [](const std::string& file) {
    return [file](const std::string&, const LoopbackServer::Send& send) { SendFile(send, file); };
  };
  ExpectFailure(send_file("<html>not a debug file</html>"), 100);
  ExpectFailure(send_file(DebugFileOf(kOtherId)), 1 << 20);
  ExpectFailure([](const std::string&, const LoopbackServer::Send& send) { send("what?\r\n\r\n"); },
                100);
  ExpectFailure(
      [](const std::string&, const LoopbackServer::Send& send) {
        send(LoopbackServer::Head("500 Internal Server Error", "Content-Length: 4\r\n") + "oops");
      },
      100);
  ExpectFailure(  // Less than was promised.
      [](const std::string&, const LoopbackServer::Send& send) {
        const std::string file = DebugFileOf(kId);
        send(
            LoopbackServer::Head("200 OK", fmt::format("Content-Length: {}\r\n", file.size() + 1)) +
            file);
      },
      1 << 20);
  ExpectFailure(  // Another protocol, behind a redirection.
      [](const std::string&, const LoopbackServer::Send& send) {
        send(LoopbackServer::Head("302 Found", "Location: file:///etc/passwd\r\n"));
      },
      100);
}

TEST_F(Debuginfod, AServerThatFailsAgainAndAgainIsLeftAlone) {
  const LoopbackServer server([](const std::string&, const LoopbackServer::Send& send) {
    send(LoopbackServer::Head("503 Service Unavailable", "Content-Length: 0\r\n"));
  });
  const auto client = Client::Create(Settings({server.url()}));
  ASSERT_TRUE(client.ok());
  for (int i = 0; i < 10; ++i) {
    const std::string id = fmt::format("{:02x}{}", i, std::string(kId).substr(2));
    EXPECT_EQ(Fetch(**client, id).file, nullptr);
  }
  EXPECT_EQ(server.paths().size(), 3u);
}

TEST_F(Debuginfod, AnHourHasItsBytes) {
  const LoopbackServer server([](const std::string& path, const LoopbackServer::Send& send) {
    SendFile(send, DebugFileOf(IdOf(path), 100'000));
  });
  ClientSettings settings = Settings({server.url()});
  settings.hour_bytes = 150'000;
  const auto client = Client::Create(settings);
  ASSERT_TRUE(client.ok());
  EXPECT_NE(Fetch(**client, kId).file, nullptr);
  EXPECT_EQ(Fetch(**client, kOtherId).file, nullptr);
  EXPECT_LE((*client)->counts().bytes, 300'000u);
}

TEST_F(Debuginfod, TheCacheKeepsWhatWasUsedLast) {
  const LoopbackServer server([](const std::string& path, const LoopbackServer::Send& send) {
    SendFile(send, DebugFileOf(IdOf(path), 100'000));
  });
  ClientSettings settings = Settings({server.url()});
  settings.cache_bytes = 250'000;
  const auto client = Client::Create(settings);
  ASSERT_TRUE(client.ok());
  const std::string third = "2" + std::string(kId).substr(1);
  ASSERT_NE(Fetch(**client, kId).file, nullptr);
  ASSERT_NE(Fetch(**client, kOtherId).file, nullptr);
  std::this_thread::sleep_for(
      std::chrono::milliseconds(50));             // File times have ticks of 10 ms or less.
  ASSERT_NE((*client)->Find(kId).file, nullptr);  // Used again.
  ASSERT_NE(Fetch(**client, third).file, nullptr);
  EXPECT_NE((*client)->Find(kId).file, nullptr);
  EXPECT_TRUE((*client)->Find(kOtherId).is_pending) << "it had to go, and is asked for again";
}

TEST_F(Debuginfod, OnlyBuildIdsAreAskedFor) {
  const LoopbackServer server([](const std::string&, const LoopbackServer::Send& send) {
    send(LoopbackServer::Head("404 Not Found"));
  });
  const auto client = Client::Create(Settings({server.url()}));
  ASSERT_TRUE(client.ok());
  for (const char* bad : {"", "abc", "../../../../etc/passwd", "ABCDEF0123", "0123456789abcdeg"})
    EXPECT_FALSE((*client)->Find(bad).is_pending) << bad;
  EXPECT_TRUE(server.paths().empty());
}

TEST_F(Debuginfod, ADirectoryOfOthersIsRefused) {
  const std::string open_to_all = directory_.File("open");
  ASSERT_EQ(mkdir(open_to_all.c_str(), 0700), 0);
  ASSERT_EQ(chmod(open_to_all.c_str(), 0777), 0);
  ClientSettings settings = Settings({"http://127.0.0.1:1"});
  settings.directory = open_to_all;
  EXPECT_TRUE(absl::IsFailedPrecondition(Client::Create(settings).status()));
  std::filesystem::create_symlink(directory_.File("cache"), directory_.File("link"));
  settings.directory = directory_.File("link");
  EXPECT_TRUE(absl::IsUnavailable(Client::Create(settings).status()));
}

}  // namespace
}  // namespace stackray::debuginfod
