// Events of drivers and devices, in order of time.
#include "exhaustive.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <queue>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "cluster/shared_study.hpp"
#include "core/run/peer_work.hpp"

using namespace xtune::cluster;
using namespace xtune::store;
using namespace xtune::run;
using namespace xtune::search;

namespace xtune::scaling {
namespace {

constexpr std::size_t queue_length = 30;        // of a run with 14 compilers
constexpr std::uint64_t numbers_a_turn = 1000;  // as in a run

struct Numbers final : Sequence {
  std::uint64_t count = 0;
  std::uint64_t size() const noexcept override { return count; }
  std::uint64_t at(std::uint64_t number) const override { return number; }
};

using Board = std::unordered_map<std::string, std::size_t>;

struct Seat final : Peers {
  Board& board;
  std::size_t own, count;
  std::uint64_t claims = 0;
  std::unordered_set<std::string> known;
  Seat(Board& shared, std::size_t place, std::size_t size) : board(shared), own(place), count(size) {}
  bool take(const std::string& name) override {
    claims += known.insert(name).second;
    return board.try_emplace(name, own).first->second == own;
  }
  void leave() noexcept override {}
  void stored_one() noexcept override {}
  std::vector<Record> news() override { return {}; }
  std::size_t size() const noexcept override { return count; }
  std::size_t place() const noexcept override { return own; }
  std::int64_t began_unix_ms() const noexcept override { return 0; }
  std::uint64_t look_every_ms() const noexcept override { return look_interval_ms(count); }
};

struct Rank {
  Seat seat;
  BlockWalk walk;
  double driver_free_s = 0, device_free_s = 0, next_look_s = 0;
  std::deque<std::pair<double, std::uint64_t>> queue;  ///< when a configuration ends, and which
  std::uint64_t known = 0;                             ///< evaluations of all when it looked last
  bool looks = false;                                  ///< there is more to look at
  Rank(Board& board, const Numbers& numbers, std::size_t place, std::size_t size)
      : seat(board, place, size),
        walk(
            numbers, seat, [this](const std::string& name) { return seat.take(name); }, "walk") {}
};

class Simulation {
 public:
  explicit Simulation(const Job& job) : job_(job), stored_s_(job.configs, INFINITY) {
    numbers_.count = job.configs;
    for (std::size_t i = 0; i < job.ranks; ++i)
      ranks_.push_back(std::make_unique<Rank>(board_, numbers_, i, job.ranks));
  }

  Timing run() {
    for (std::size_t i = 0; i < ranks_.size(); ++i) wakes_.emplace(0.0, i);
    Timing timing;
    while (!wakes_.empty()) {
      const auto [now_s, place] = wakes_.top();
      wakes_.pop();
      Rank& rank = *ranks_[place];
      const double next_s = turn(rank, now_s);
      if (std::isfinite(next_s))
        wakes_.emplace(next_s, place);
      else
        timing.seconds = std::max(timing.seconds, rank.driver_free_s);
    }
    if (evaluated_ != job_.configs) throw std::logic_error("a configuration was evaluated twice or never");
    for (const auto& rank : ranks_) timing.claims += rank->seat.claims;
    return timing;
  }

 private:
  /// Performs the driver's action at that time; returns when it continues, infinity at its end.
  double turn(Rank& rank, double now_s) {
    double cost_s = 0;
    while (!rank.queue.empty() && rank.queue.front().first <= now_s) {
      cost_s += job_.costs.own_s;
      double& stored_s = stored_s_.at(rank.queue.front().second);
      if (std::isfinite(stored_s)) throw std::logic_error("a configuration was evaluated twice");
      stored_s = now_s + cost_s;
      ++evaluated_;
      rank.queue.pop_front();
    }
    if (job_.ranks > 1) cost_s += look(rank, now_s + cost_s);
    const std::uint64_t claims = rank.seat.claims;
    while (rank.queue.size() < queue_length) {
      const auto number = rank.walk.next();
      if (!number) break;
      rank.device_free_s =
          std::max(rank.device_free_s, now_s + cost_s) + job_.evaluation_s[*number % job_.evaluation_s.size()];
      rank.queue.emplace_back(rank.device_free_s, *number);
    }
    cost_s += static_cast<double>(rank.seat.claims - claims) * job_.claim_s;
    rank.driver_free_s = now_s + cost_s;
    if (rank.queue.empty() && rank.walk.over()) return INFINITY;
    if (rank.looks) return rank.driver_free_s;
    const double ends_s = rank.queue.empty() ? INFINITY : rank.queue.front().first;
    return std::max(rank.driver_free_s, std::min(ends_s, job_.ranks > 1 ? rank.next_look_s : INFINITY));
  }

  double look(Rank& rank, double now_s) {
    double cost_s = 0;
    if (now_s >= rank.next_look_s) {
      cost_s += static_cast<double>(job_.ranks) * job_.file_s;
      cost_s += static_cast<double>(evaluated_ - std::exchange(rank.known, evaluated_)) * job_.costs.read_s;
      rank.next_look_s = now_s + static_cast<double>(rank.seat.look_every_ms()) * 1e-3;
    } else if (!rank.looks) {
      return 0;
    }
    std::uint64_t walked = 0;
    rank.looks = rank.walk.look(
        [&](std::uint64_t number) {
          const bool there = stored_s_[number] <= now_s;
          walked += there;
          return there;
        },
        numbers_a_turn);
    return cost_s + static_cast<double>(walked) * job_.costs.walk_s;
  }

  const Job& job_;
  Numbers numbers_;
  Board board_;
  std::vector<double> stored_s_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  using Wake = std::pair<double, std::size_t>;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
  std::uint64_t evaluated_ = 0;
};

}  // namespace

Timing simulate(const Job& job) { return Simulation(job).run(); }

}  // namespace xtune::scaling
