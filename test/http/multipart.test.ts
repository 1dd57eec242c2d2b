import { expect, test } from "bun:test";
import { AppError } from "../../src/core/errors.ts";
import { type IncomingFile, readMultipart } from "../../src/http/multipart.ts";

const LIMITS = { file: "file", file_bytes: 20, envelope_bytes: 5_000, field_bytes: 100, time_ms: 300 };

/** A request whose body comes in pieces of `step` bytes. */
function requestOf(text: string, { type = "multipart/form-data; boundary=B", step = 7 } = {}): Request {
  const bytes = Buffer.from(text);
  let sent = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (sent >= bytes.byteLength) return controller.close();
      controller.enqueue(bytes.subarray(sent, sent + step));
      sent += step;
    },
  });
  return new Request("http://localhost/", { method: "POST", headers: { "content-type": type }, body });
}

async function count({ name, bytes }: IncomingFile) {
  let size = 0;
  for await (const piece of bytes) {
    size += piece.byteLength;
    await Bun.sleep(0);
  }
  return { name, size };
}

const part = (disposition: string, body: string) =>
  `--B\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${body}\r\n`;
const TYPE = part('name="type"', "payslip");
const file = (size: number) => part('name="file"; filename="a.pdf"', "x".repeat(size));
const END = "--B--\r\n";

test.each([0, 1, 19, 20])("a file of %p bytes comes in whole, in pieces of any size", async (size) => {
  for (const step of [1, 2, 3, 7, 64, 10_000]) {
    for (const text of [TYPE + file(size) + END, file(size) + TYPE + END]) {
      const read = await readMultipart(requestOf(text, { step }), LIMITS, count);
      expect(read).toEqual({ fields: { type: "payslip" }, file: { name: "a.pdf", size } });
    }
  }
});

const CUT = "The body was cut off";
const huge = part('name="x"', "x".repeat(6_000));
const many = Array.from({ length: 30 }, (_, i) => part(`name="a${i}"`, "x")).join("");

test.each([
  ["one byte too many", TYPE + file(21) + END, "too_large", "The file is over 20 bytes"],
  ["far too many bytes", TYPE + file(3_000) + END, "too_large", "The file is over 20 bytes"],
  ["too much around the file", huge + file(1) + END, "too_large", "The body is over 5020 bytes"],
  ["two files", file(1) + file(1) + END, "invalid", "file must be given once"],
  ["a field twice", TYPE + TYPE + file(1) + END, "invalid", "type must be given once"],
  ["no file", TYPE + END, "invalid", "file is required: a file with a name"],
  ["a field for the file", part('name="file"', "x") + END, "invalid", "file must be a file with a name"],
  [
    "a file without a name",
    part('name="file"; filename=""', "x") + END,
    "invalid",
    "file must be a file with a name",
  ],
  ["a file for a field", part('name="type"; filename="a"', "x") + END, "invalid", "type must not be a file"],
  ["a part without a name", part('x="y"', "x") + END, "invalid", "body must have parts with names only"],
  [
    "a long field",
    part('name="type"', "x".repeat(200)) + END,
    "invalid",
    "type must be at most 100 bytes long",
  ],
  ["many parts", many + END, "invalid", "body must have at most 20 parts"],
  ["a body that ends in the file", (TYPE + file(9)).slice(0, -6), "malformed", CUT],
  ["a body that ends after the file", TYPE + file(9), "malformed", CUT],
  ["a body that ends in a header", `${TYPE}--B\r\nContent-Disp`, "malformed", CUT],
  ["an empty body", "", "malformed", CUT],
  ["another boundary", "garbage ".repeat(10), "malformed", CUT],
])("%s is refused", async (_, text, kind, message) => {
  const error = await readMultipart(requestOf(text), LIMITS, count).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AppError);
  expect(error).toMatchObject({ kind, message });
});

test.each([
  ["multipart/form-data", "malformed"],
  ["multipart/mixed; boundary=B", "unsupported_media_type"],
  ["application/json", "unsupported_media_type"],
])("the type %s is refused", async (type, kind) => {
  const error = await readMultipart(requestOf("", { type }), LIMITS, count).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ kind });
});

test("a body that says it is too long is not read", async () => {
  let is_read = false;
  const request = new Request("http://localhost/", {
    method: "POST",
    headers: { "content-type": "multipart/form-data; boundary=B", "content-length": "100000" },
    body: new ReadableStream({ pull: () => void (is_read = true) }, { highWaterMark: 0 }),
  });
  const error = await readMultipart(request, LIMITS, count).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ kind: "too_large" });
  expect(is_read).toBe(false);
});

/** A body that begins with a file and then goes on as `pull` says. */
function begun(pull: (controller: ReadableStreamDefaultController) => void): Request {
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(Buffer.from(file(9).slice(0, -4))),
    pull,
  });
  const headers = { "content-type": "multipart/form-data; boundary=B" };
  return new Request("http://localhost/", { method: "POST", headers, body });
}

test.each([
  ["stops coming in", () => undefined, { kind: "timed_out" }],
  [
    "breaks off",
    (controller: ReadableStreamDefaultController) => controller.error(new Error("gone")),
    { kind: "malformed", message: CUT },
  ],
])("whoever takes a file that %s is told so, and waited for", async (_, pull, expected) => {
  let taken: unknown = "still at it";
  const take = async (incoming: IncomingFile) => {
    try {
      return await count(incoming);
    } catch (error) {
      await Bun.sleep(20);
      taken = error;
      throw error;
    }
  };
  const error = await readMultipart(begun(pull), LIMITS, take).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject(expected);
  expect(taken).toBeInstanceOf(AppError);
});

test("what refuses a file ends the reading at once", async () => {
  let pieces = 0;
  const refuse = async ({ bytes }: IncomingFile) => {
    for await (const _ of bytes) throw new AppError("unsupported_media_type", "No");
  };
  const request = begun((controller) => {
    pieces++;
    controller.enqueue(Buffer.from("x"));
  });
  const error = await readMultipart(request, LIMITS, refuse).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ kind: "unsupported_media_type" });
  expect(pieces).toBeLessThan(15);
});

test("a sender waits for whoever takes the file", async () => {
  let sent = 0;
  const bytes = Buffer.alloc(64 * 1024, "x");
  const body = new ReadableStream(
    {
      start: (controller) => controller.enqueue(Buffer.from(file(0).slice(0, -2))),
      pull(controller) {
        sent += bytes.byteLength;
        controller.enqueue(bytes);
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { "content-type": "multipart/form-data; boundary=B" };
  const request = new Request("http://localhost/", { method: "POST", headers, body });
  const hold = async (incoming: IncomingFile) => {
    for await (const _ of incoming.bytes) await Bun.sleep(10_000);
  };
  const limits = { ...LIMITS, file_bytes: 100 * 1024 * 1024 };
  void readMultipart(request, limits, hold).catch(() => undefined);
  await Bun.sleep(200);
  expect(sent).toBeGreaterThan(0);
  expect(sent).toBeLessThan(2 * 1024 * 1024);
});
