#include "runtime/bootstrap/rendezvous/hosted.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include <pthread.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "runtime/bootstrap/rendezvous/network.hpp"
#include "runtime/bootstrap/rendezvous/rendezvous.hpp"
#include "runtime/bootstrap/rendezvous/service.hpp"

namespace rollcall::bootstrap {
namespace {

struct HostedRoot {
    std::string invitation;
    std::shared_ptr<Service> service;
    std::vector<int> listeners;
};

/// Those of this process. Their threads do not come along into a child that it forks: there they are forgotten.
class HostedRoots {
  public:
    static HostedRoots& all() {
        static HostedRoots roots;
        return roots;
    }
    HostedRoots() {
        ::pthread_atfork([] { all().mutex_.lock(); }, [] { all().mutex_.unlock(); },
                         [] {
                             all().forget();
                             all().mutex_.unlock();
                         });
    }
    ~HostedRoots() = default;

    void add(HostedRoot root) {
        const std::lock_guard lock(mutex_);
        std::erase_if(roots_, [](const HostedRoot& known) { return known.service->finished(); });
        roots_.push_back(std::move(root));
    }
    std::shared_ptr<Service> find(std::string_view invitation) {
        const std::lock_guard lock(mutex_);
        const auto found =
            std::find_if(roots_.begin(), roots_.end(), [&](const HostedRoot& root) { return root.invitation == invitation; });
        return found == roots_.end() ? nullptr : found->service;
    }

  private:
    /// A child that keeps the sockets would keep the port, too, when its parent is gone: nobody would answer there.
    void forget() {
        for (HostedRoot& root : roots_) {
            for (const int listener : root.listeners) ::close(listener);
            // Its destructor would wait for a thread that is not here.
            static auto* const forgotten = new std::vector<std::shared_ptr<Service>>;
            forgotten->push_back(std::move(root.service));
        }
        roots_.clear();
    }

    std::mutex mutex_;
    std::vector<HostedRoot> roots_;
};

}  // namespace

std::string host_root() {
    const RendezvousOptions options = rendezvous_options();
    Descriptor listener = listen_at(*SocketAddress::parse(address_in_use(options.net), options.port), options.port_advice);
    const SocketAddress bound = SocketAddress::of(listener.get());
    const Invitation invitation{bound.address(), bound.port(), Key::random()};
    Descriptor local = listen_locally(local_name(invitation.key, host_name()));
    HostedRoot root;
    root.invitation = invitation.text();
    root.listeners = {listener.get(), local.get()};
    root.service = std::make_shared<Service>(
        ServiceOptions{
            invitation.key, {Identity::Kind::root, -1, 0}, host_name(), options.join_timeout, options.heartbeat, options.silence},
        std::move(local), Service::Root{std::move(listener)});
    std::string text = root.invitation;
    HostedRoots::all().add(std::move(root));
    return text;
}

void finish_hosted_root(std::string_view invitation, Timeout limit) noexcept {
    if (const auto service = HostedRoots::all().find(invitation)) service->finish(limit);
}

}  // namespace rollcall::bootstrap
