// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/config.hpp"
#include "softgpu/kfd/driver.hpp"
#include "softgpu/kfd/engine_abi.hpp"
#include "softgpu/kfd/output.hpp"
#include "softgpu/kfd/real.hpp"
#include "softgpu/kfd/topology.hpp"
#include "softgpu/truth.hpp"

#include <pthread.h>
#include <sys/ioctl.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <thread>

// The engine library's entry: one driver a process, made when the device is first opened.
// Everything here is leaked on purpose; exit handlers of the runtime still call in.

namespace wavetap::softgpu::kfd {
namespace {

/// The real chips, with their truth file.
class RealChips final : public ChipSource {
  public:
    explicit RealChips(std::string truth_folder) : folder_(std::move(truth_folder)) {}

    Result<std::unique_ptr<Chip>> make(const ChipSpec& spec, unsigned agent, AddressSpace& space,
                                       Host& host) override {
        if (truth_ == nullptr && !folder_.empty()) {
            WAVETAP_TRY(truth_, TruthWriter::create(folder_ + "/truth-" + std::to_string(getpid()) +
                                                    ".bin"));
        }
        if (truth_ != nullptr) truth_->chip(agent, spec.name);
        return Chip::create(spec, agent, space, host, truth_.get());
    }
    void flush() override {
        if (truth_ != nullptr) truth_->flush();
    }

  private:
    std::string folder_;
    std::unique_ptr<TruthWriter> truth_;
};

struct Identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
};
constexpr std::size_t kMaxAncestors = 16;

struct Process {
    Config config;
    std::vector<AgentDescription> agents;
    std::vector<std::pair<std::string, std::string>> texts;
    std::vector<VirtualFile> files;
    EngineAbi abi{};

    Mutex make;                           ///< held while the driver is made
    std::atomic<Driver*> driver{nullptr}; ///< set once a process, cleared by fork
    /// Device files of the ancestors, whose descriptors this process may have inherited.
    Identity ancestors[kMaxAncestors];
    std::atomic<std::size_t> ancestor_count{0};
};

Process* g_process = nullptr; // set once under the entry's initialisation, leaked

// In the child only this thread is left, and it may hold none of the parent's locks: the child
// forgets the parent's driver and makes its own when it opens the device.
void after_fork_in_child() {
    Process& p = *g_process;
    const Driver* parent = p.driver.exchange(nullptr);
    new (&p.make) Mutex;
    if (parent == nullptr) return;
    struct ::stat identity {};
    const std::size_t count = p.ancestor_count.load();
    if (count < kMaxAncestors && real::fstat(parent->fd(), &identity) == 0) {
        p.ancestors[count] = {identity.st_dev, identity.st_ino};
        p.ancestor_count.store(count + 1);
    }
}

Driver* driver() {
    Process& p = *g_process;
    if (Driver* made = p.driver.load()) return made;
    const MutexLock lock(p.make);
    if (Driver* made = p.driver.load()) return made;
    auto* chips = new RealChips(p.config.truth_folder);
    auto made = Driver::create(p.config, p.agents, *chips);
    if (!made) {
        report(to_string(made.error()));
        return nullptr;
    }
    p.driver.store(made->release());
    return p.driver.load();
}

// A descriptor of its own open file description, whose file position says which node it is: dup()
// and inheritance keep it.
int open_device(int minor, int flags) {
    Process& p = *g_process;
    const bool known = minor == kKfdNode || (minor >= kFirstRenderMinor &&
                                             minor < kFirstRenderMinor + int(p.agents.size()));
    if (!known || p.agents.empty()) return -ENOENT;
    Driver* const d = driver();
    if (d == nullptr) return -ENODEV;
    const std::string path = "/proc/self/fd/" + std::to_string(d->fd());
    int fd = real::open_file(AT_FDCWD, path.c_str(), O_RDWR | (flags & O_CLOEXEC));
    if (fd < 0) fd = fcntl(d->fd(), (flags & O_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
    if (fd < 0) return -errno;
    if (minor != kKfdNode) lseek(fd, minor, SEEK_SET);
    return fd;
}

enum class Whose { kOther, kOurs, kAncestors };

Whose whose(int fd) {
    const Process& p = *g_process;
    struct ::stat identity {};
    if (real::fstat(fd, &identity) != 0) return Whose::kOther;
    const Driver* d = p.driver.load();
    if (d != nullptr && d->is_file(identity.st_dev, identity.st_ino)) return Whose::kOurs;
    for (std::size_t i = 0; i < p.ancestor_count.load(); ++i)
        if (p.ancestors[i].device == identity.st_dev && p.ancestors[i].inode == identity.st_ino)
            return Whose::kAncestors;
    return Whose::kOther;
}

bool owns(int fd) {
    return whose(fd) != Whose::kOther;
}

int minor_of(int fd) {
    const auto position = static_cast<int>(lseek(fd, 0, SEEK_CUR));
    return position >= kFirstRenderMinor ? position : kKfdNode;
}

// The kernel refuses a descriptor that another process opened, too.
int engine_ioctl(int fd, unsigned long request, void* argument) {
    if (whose(fd) != Whose::kOurs) return -EBADF;
    return -g_process->driver.load()->handle(request, argument);
}

const char* product_name(int minor) {
    const auto index = static_cast<std::size_t>(minor - kFirstRenderMinor);
    const auto& agents = g_process->agents;
    return index < agents.size() ? agents[index].identity.product : nullptr;
}

void finish() {
    if (Driver* d = g_process->driver.load()) d->flush();
}

std::string read_text(const char* path) {
    std::string text;
    const int fd = real::open_file(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return text;
    char block[65536];
    for (ssize_t size; (size = read(fd, block, sizeof block)) > 0;)
        text.append(block, static_cast<std::size_t>(size));
    real::close(fd);
    return text;
}

Result<void> describe(Process& p) {
    WAVETAP_TRY(p.config, read_config([](const char* name) { return std::getenv(name); }));
    for (const std::string& chip : p.config.chips) {
        WAVETAP_TRY(ChipSpec spec, chip_spec(chip));
        spec.seed = p.config.seed;
        WAVETAP_TRY(auto agent, describe_agent(spec, static_cast<unsigned>(p.agents.size()),
                                               p.config.hbm_bytes));
        p.agents.push_back(std::move(agent));
    }
    return {};
}

void make_files(Process& p) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const auto files = topology_files(p.agents, std::thread::hardware_concurrency(),
                                      pages > 0 ? std::uint64_t(pages) * std::uint64_t(page) : kGiB,
                                      first_apicid(read_text("/proc/cpuinfo")));
    p.texts.reserve(files.size());
    for (const auto& [path, text] : files) {
        const auto& kept = p.texts.emplace_back(path, text.value_or(""));
        p.files.push_back({kept.first.c_str(), text ? kept.second.c_str() : nullptr});
    }
}

const EngineAbi* make_engine() {
    g_process = new Process;
    Process& p = *g_process;
    if (auto described = describe(p); !described) {
        report(to_string(described.error()) +
               (described.error().hint.empty() ? "" : "; " + described.error().hint));
        p.agents.clear();
    }
    if (!p.agents.empty()) make_files(p);
    p.abi = {kEngineAbiVersion, static_cast<std::uint32_t>(p.agents.size()),
             p.files.data(),    p.files.size(),
             &open_device,      &owns,
             &minor_of,         &engine_ioctl,
             &product_name,     &finish};
    pthread_atfork(nullptr, nullptr, &after_fork_in_child);
    std::atexit(&finish);
    return &p.abi;
}

} // namespace
} // namespace wavetap::softgpu::kfd

extern "C" __attribute__((visibility("default"))) const wavetap::softgpu::kfd::EngineAbi*
wavetap_softgpu_engine() {
    static const wavetap::softgpu::kfd::EngineAbi* const abi = wavetap::softgpu::kfd::make_engine();
    return abi;
}
