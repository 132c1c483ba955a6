#include "bootstrap/rendezvous/hosted.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include <pthread.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/meeting_place.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"
#include "bootstrap/rendezvous/service.hpp"
#include "foundation/host_name.hpp"
#include "foundation/log.hpp"

namespace rollcall::bootstrap {
namespace {

struct HostedRoot {
    Key key;
    std::shared_ptr<Service> service;
};

/// The roots that this process hosts. A child that it forks has none.
class HostedRoots {
  public:
    static HostedRoots& all() {
        static auto& roots = *new HostedRoots;  // jobs that end in destructors of static objects still need their roots
        return roots;
    }

    void add(HostedRoot root) {
        std::vector<HostedRoot> ended;  // destroyed without the lock, because closing their descriptors takes the lock of the descriptors
        const std::lock_guard lock(mutex_);
        const auto first = std::partition(roots_.begin(), roots_.end(), [](const HostedRoot& known) { return !known.service->finished(); });
        ended.assign(std::make_move_iterator(first), std::make_move_iterator(roots_.end()));
        roots_.erase(first, roots_.end());
        roots_.push_back(std::move(root));
    }
    std::shared_ptr<Service> find(const Key& key) {
        const std::lock_guard lock(mutex_);
        const auto found = position(key);
        return found == roots_.end() ? nullptr : found->service;
    }

    void remove(const Key& key) {
        std::vector<HostedRoot> removed;  // destroyed without the lock, as above
        const std::lock_guard lock(mutex_);
        const auto found = position(key);
        if (found == roots_.end()) return;
        removed.push_back(std::move(*found));
        roots_.erase(found);
    }

  private:
    HostedRoots() {
        ::pthread_atfork([] { all().mutex_.lock(); }, [] { all().mutex_.unlock(); },
                         [] {
                             all().roots_.clear();
                             all().mutex_.unlock();
                         });
    }

    std::vector<HostedRoot>::iterator position(const Key& key) {
        return std::ranges::find_if(roots_, [&](const HostedRoot& root) { return std::ranges::equal(root.key.bytes(), key.bytes()); });
    }

    std::mutex mutex_;
    std::vector<HostedRoot> roots_;
};

}  // namespace

std::string host_root() {
    const auto settings = Settings::from_environment();
    const RendezvousOptions options = rendezvous_options(settings);
    // This process may never join a job itself, and still other processes connect to it.
    start_log(settings.log);
    Descriptor listener = listen_at(*SocketAddress::parse(address_in_use(options.net), options.port), options.port_advice);
    const SocketAddress bound = SocketAddress::of(listener.get());
    const Invitation invitation{bound.address(), bound.port(), Key::random()};
    Descriptor local = MeetingPlace(invitation.key, host_name(), {}).listen();
    Service::Root root;
    root.networks.push_back(std::move(listener));
    auto service = std::make_shared<Service>(
        ServiceOptions{
            invitation.key, {Identity::Kind::root, -1, 0}, host_name(), options.join_timeout, options.heartbeat, options.silence},
        std::move(local), std::move(root));
    HostedRoots::all().add({invitation.key, std::move(service)});
    return invitation.text();
}

void forget_hosted_root(const Key& key) { HostedRoots::all().remove(key); }

void finish_hosted_root(const Key& key, Timeout limit) noexcept {
    if (const auto service = HostedRoots::all().find(key)) service->finish(limit);
}

}  // namespace rollcall::bootstrap
