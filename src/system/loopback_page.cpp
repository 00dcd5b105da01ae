// HTTP/1.1 as far as one page needs it (RFC 9112): a request, an answer, and the end of the connection.
#include "system/loopback_page.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <uv.h>

#include <list>
#include <random>
#include <string_view>

#include "xtune/error.hpp"

namespace xtune::system {

namespace {

constexpr std::size_t most_clients = 32, longest_request = 16 << 10;
constexpr std::int64_t reader_left_ms = 5000;  ///< a reader that has not asked for this long has left
constexpr std::int64_t rest_for_work = 20;     ///< making the page, and that many times as long something else

/// 128 random bits.
std::string random_word() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

std::string answer_text(std::string_view status, std::string_view headers, std::string_view body) {
  return fmt::format(
      "HTTP/1.1 {}\r\n{}Content-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
      "Connection: close\r\n\r\n{}",
      status, headers, body.size(), body);
}

struct Client {
  uv_tcp_t tcp{};
  uv_write_t write{};
  std::string request, answer;
  char buffer[4096];
};

uv_handle_t* handle(auto& tcp) { return reinterpret_cast<uv_handle_t*>(&tcp); }
uv_stream_t* stream(auto& tcp) { return reinterpret_cast<uv_stream_t*>(&tcp); }

void close_client(Client& client) {
  if (uv_is_closing(handle(client.tcp))) return;
  uv_close(handle(client.tcp), [](uv_handle_t* closed) { delete reinterpret_cast<Client*>(closed); });
}

}  // namespace

struct LoopbackPage::State {
  State(EventLoop& its_loop, std::function<std::string()> its_make) : loop(its_loop), make(std::move(its_make)) {}

  EventLoop& loop;
  std::function<std::string()> make;
  uv_tcp_t* server = new uv_tcp_t;
  std::list<Client*> clients;  ///< the oldest first; each deletes itself once it is closed
  std::string word = random_word(), address, page;
  std::int64_t version = 1, made = 0, read = 0;  ///< of the contents, of `page`, and of what a reader has
  std::int64_t rest_until_ms = 0, asked_ms = -reader_left_ms;
  bool finished = false;

  void listen(int port) {
    uv_tcp_init(loop.raw(), server);
    server->data = this;
    uv_unref(handle(*server));
    sockaddr_in place{};
    uv_ip4_addr("127.0.0.1", port, &place);
    int failed = uv_tcp_bind(server, reinterpret_cast<const sockaddr*>(&place), 0);
    if (!failed)
      failed = uv_listen(stream(*server), 16, [](uv_stream_t* one, int status) {
        auto* state = static_cast<State*>(one->data);
        if (status == 0) state->loop.guarded([state] { state->accept(); });
      });
    int length = sizeof(place);
    if (!failed) failed = uv_tcp_getsockname(server, reinterpret_cast<sockaddr*>(&place), &length);
    if (failed)
      throw Error(ErrorKind::io,
                  fmt::format("cannot serve a page on port {} of 127.0.0.1: {}", port, uv_strerror(failed)));
    address = fmt::format("http://127.0.0.1:{}/{}/", ntohs(place.sin_port), word);
  }

  void close() {
    uv_close(handle(*server), [](uv_handle_t* closed) { delete reinterpret_cast<uv_tcp_t*>(closed); });
    for (Client* client : clients) close_client(*client);
  }

  void accept() {
    auto* client = new Client;
    uv_tcp_init(loop.raw(), &client->tcp);
    uv_unref(handle(client->tcp));
    client->tcp.data = this;
    clients.push_back(client);
    if (clients.size() > most_clients) forget(*clients.front());
    const auto room = [](uv_handle_t* one, std::size_t, uv_buf_t* buffer) {
      auto* its = reinterpret_cast<Client*>(one);
      *buffer = uv_buf_init(its->buffer, sizeof(its->buffer));
    };
    const auto heard = [](uv_stream_t* one, ssize_t count, const uv_buf_t*) {
      auto* its = reinterpret_cast<Client*>(one);
      auto* state = static_cast<State*>(one->data);
      if (count != 0) state->loop.guarded([=] { state->hear(*its, count); });
    };
    if (uv_accept(stream(*server), stream(client->tcp)) || uv_read_start(stream(client->tcp), room, heard))
      forget(*client);
  }

  void forget(Client& client) {
    clients.remove(&client);
    close_client(client);
  }

  void hear(Client& client, ssize_t count) {
    if (count < 0) return forget(client);
    client.request.append(client.buffer, static_cast<std::size_t>(count));
    if (client.request.size() > longest_request) return forget(client);
    if (client.request.find("\r\n\r\n") == std::string::npos || !client.answer.empty()) return;
    client.answer = answer_to(client.request);
    const uv_buf_t text = uv_buf_init(client.answer.data(), static_cast<unsigned>(client.answer.size()));
    const auto written = [](uv_write_t* write, int) {
      auto* its = reinterpret_cast<Client*>(write->handle);
      // Closing destroys what has just been written, if this object is gone.
      if (!uv_is_closing(reinterpret_cast<uv_handle_t*>(its))) static_cast<State*>(its->tcp.data)->forget(*its);
    };
    if (uv_write(&client.write, stream(client.tcp), &text, 1, written)) forget(client);
  }

  std::string answer_to(const std::string& request) {
    if (!request.starts_with("GET ")) return answer_text("405 Method Not Allowed", "Allow: GET\r\n", "");
    if (!request.starts_with("GET /" + word + "/ ")) return answer_text("404 Not Found", "", "");
    asked_ms = loop.now_ms();
    if (made < version && (finished || asked_ms >= rest_until_ms)) {
      page = make();
      made = version;
      rest_until_ms = loop.now_ms() + rest_for_work * (loop.now_ms() - asked_ms);
    }
    read = made;
    const std::string tag = fmt::format("ETag: \"{}\"\r\n", made);
    if (request.find(fmt::format("\r\nIf-None-Match: \"{}\"\r\n", made)) != std::string::npos ||
        request.find(fmt::format("\r\nif-none-match: \"{}\"\r\n", made)) != std::string::npos)
      return answer_text("304 Not Modified", tag, "");
    return answer_text("200 OK", tag, page);
  }
};

LoopbackPage::LoopbackPage(EventLoop& loop, int port, std::function<std::string()> make)
    : state_(std::make_unique<State>(loop, std::move(make))) {
  try {
    state_->listen(port);
  } catch (...) {
    state_->close();
    throw;
  }
}

LoopbackPage::~LoopbackPage() { state_->close(); }
const std::string& LoopbackPage::address() const noexcept { return state_->address; }
void LoopbackPage::changed() noexcept { ++state_->version; }

void LoopbackPage::finish(std::uint64_t most_ms) {
  ++state_->version;
  state_->finished = true;
  if (state_->loop.now_ms() - state_->asked_ms >= reader_left_ms) return;
  bool over = false;
  const EventLoop::Watch end = state_->loop.call_after(most_ms, [&over] { over = true; });
  state_->loop.run_until([&] { return over || (state_->read == state_->version && state_->clients.empty()); });
}

}  // namespace xtune::system
