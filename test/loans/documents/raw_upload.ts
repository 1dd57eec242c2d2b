import type { Answer } from "../../support/harness.ts";

/** An upload over a bare connection, to send it as slowly, or as badly, as one likes. */
export interface RawUpload {
  write: (bytes: string | Uint8Array) => void;
  /** Ends the connection as one that breaks: nothing more comes. */
  cut: () => void;
  /** What was answered, once its head is there. */
  answer: Promise<Pick<Answer, "status">>;
  /** Bytes that the machine took from us until now. */
  sent: () => number;
}

export const BOUNDARY = "----meterhouse";
/** A multipart body up to the file's bytes, and from there on. */
export const HEAD =
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="type"\r\n\r\npayslip\r\n` +
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n`;
export const TAIL = `\r\n--${BOUNDARY}--\r\n`;

/** Begins an upload to an application; without a length its body comes in chunks, which are `chunk`'s to make. */
export async function beginUpload(
  origin: string,
  token: string,
  application_id: number,
  content_length?: number,
): Promise<RawUpload> {
  const { hostname, port } = new URL(origin);
  const answered = Promise.withResolvers<Pick<Answer, "status">>();
  answered.promise.catch(() => undefined);
  let waiting = new Uint8Array();
  let sent = 0;
  let got = "";
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_, bytes) {
        got += new TextDecoder().decode(bytes);
        const status = /^HTTP\/1\.1 (\d{3})/.exec(got)?.[1];
        if (status !== undefined) answered.resolve({ status: Number(status) });
      },
      drain: () => flush(),
      close: () => answered.reject(new Error(`The connection was closed: ${got}`)),
    },
  });
  function flush(): void {
    while (waiting.byteLength > 0) {
      const taken = socket.write(waiting);
      if (taken <= 0) return;
      sent += taken;
      waiting = waiting.subarray(taken);
    }
  }
  const length =
    content_length === undefined ? "transfer-encoding: chunked" : `content-length: ${content_length}`;
  const write: RawUpload["write"] = (bytes) => {
    waiting = Buffer.concat([waiting, Buffer.from(bytes)]);
    flush();
  };
  write(
    `POST /api/v1/agent/applications/${application_id}/documents HTTP/1.1\r\nhost: ${hostname}\r\n` +
      `authorization: Bearer ${token}\r\ncontent-type: multipart/form-data; boundary=${BOUNDARY}\r\n${length}\r\n\r\n`,
  );
  return { write, cut: () => socket.terminate(), answer: answered.promise, sent: () => sent };
}

/** A piece of a body without a length. */
export function chunk(bytes: string | Uint8Array): Uint8Array {
  const content = Buffer.from(bytes);
  return Buffer.concat([Buffer.from(`${content.byteLength.toString(16)}\r\n`), content, Buffer.from("\r\n")]);
}
