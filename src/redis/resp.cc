#include "src/redis/resp.h"

#include <charconv>
#include <utility>

#include <hiredis/read.h>

namespace sluice::redis {
namespace {

// hiredis hands over each item with the task it belongs to. An array is sized when it is met, so an
// element's address holds until the whole reply is there.
Reply* Place(const redisReadTask* task) {
  if (task->parent == nullptr) return new Reply;
  auto* array = static_cast<Reply*>(task->parent->obj);
  return &array->elements[static_cast<std::size_t>(task->idx)];
}

void* CreateText(const redisReadTask* task, char* text, std::size_t size) {
  Reply* reply = Place(task);
  reply->kind = task->type == REDIS_REPLY_ERROR    ? Reply::Kind::kError
                : task->type == REDIS_REPLY_STATUS ? Reply::Kind::kStatus
                                                   : Reply::Kind::kText;
  reply->text.assign(text, size);
  return reply;
}

void* CreateArray(const redisReadTask* task, int elements) {
  // The announced size is the peer's word; memory is taken for a bounded one only. Null makes
  // hiredis give up the stream.
  if (std::cmp_greater(elements, ReplyReader::kMaximumElements)) return nullptr;
  Reply* reply = Place(task);
  reply->kind = Reply::Kind::kArray;
  reply->elements.resize(static_cast<std::size_t>(elements));
  return reply;
}

void* CreateInteger(const redisReadTask* task, long long value) {
  Reply* reply = Place(task);
  reply->kind = Reply::Kind::kInteger;
  reply->integer = value;
  return reply;
}

void* CreateNil(const redisReadTask* task) {
  return Place(task);
}

// Only ever called for a root: elements belong to their array.
void Free(void* reply) {
  delete static_cast<Reply*>(reply);
}

redisReplyObjectFunctions kFunctions{.createString = CreateText,
                                     .createArray = CreateArray,
                                     .createInteger = CreateInteger,
                                     .createNil = CreateNil,
                                     .freeObject = Free};

// Long enough for a kind, any number and the line's end.
constexpr std::size_t kCountBytes = 24;

// "$5\r\n"; returns its end.
char* WriteCount(char* out, char kind, std::size_t count) {
  *out++ = kind;
  out = std::to_chars(out, out + 20, count).ptr;
  *out++ = '\r';
  *out++ = '\n';
  return out;
}

}  // namespace

struct ReplyReader::Parser {
  explicit Parser(std::size_t maximum)
      : reader(redisReaderCreateWithFunctions(&kFunctions)), maximum_bytes(maximum) {}
  ~Parser() { redisReaderFree(reader); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  redisReader* reader;
  std::size_t maximum_bytes;
  std::size_t unanswered = 0;  // bytes fed that no whole reply has used up
};

void CommandWriter::Add(std::string_view word) {
  char count[kCountBytes];
  if (words_.empty()) words_.reserve(512);
  words_.append(count, WriteCount(count, '$', word.size()));
  words_ += word;
  words_ += "\r\n";
  ++count_;
}

void CommandWriter::Add(std::int64_t number) {
  char digits[24];
  Add(std::string_view(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr));
}

std::string CommandWriter::Finish() const {
  char count[kCountBytes];
  char* const end = WriteCount(count, '*', count_);
  std::string command;
  command.reserve(kCountBytes + words_.size());
  command.append(count, end);
  command += words_;
  return command;
}

std::string EncodeCommand(std::span<const std::string_view> words) {
  CommandWriter command;
  for (const std::string_view word : words) command.Add(word);
  return command.Finish();
}

ReplyReader::ReplyReader(std::size_t maximum_bytes)
    : parser_(std::make_unique<Parser>(maximum_bytes)) {}
ReplyReader::~ReplyReader() = default;
ReplyReader::ReplyReader(ReplyReader&&) noexcept = default;
ReplyReader& ReplyReader::operator=(ReplyReader&&) noexcept = default;

void ReplyReader::Feed(std::string_view bytes) {
  redisReaderFeed(parser_->reader, bytes.data(), bytes.size());
  parser_->unanswered += bytes.size();
}

std::expected<std::optional<Reply>, std::string> ReplyReader::Next() {
  redisReader* reader = parser_->reader;
  void* object = nullptr;
  if (redisReaderGetReply(reader, &object) != REDIS_OK) {
    // hiredis' own text quotes the byte it stumbled over, nothing longer.
    return std::unexpected(std::string(reader->errstr));
  }
  if (object == nullptr) {
    if (parser_->unanswered > parser_->maximum_bytes) {
      return std::unexpected(std::string("a reply is larger than any that was asked for"));
    }
    return std::optional<Reply>();
  }
  const std::unique_ptr<Reply> reply(static_cast<Reply*>(object));
  parser_->unanswered = reader->len - reader->pos;
  return std::optional<Reply>(std::move(*reply));
}

}  // namespace sluice::redis
