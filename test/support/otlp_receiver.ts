/** A span as a collector gets it. Ids are hexadecimal; `parent` is empty for a root. */
export interface ReceivedSpan {
  name: string;
  trace: string;
  id: string;
  parent: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  attributes: Record<string, string | number | boolean>;
  failed: boolean;
  service: string;
}

/** A collector that takes OTLP over HTTP as protobuf. */
export interface OtlpReceiver {
  url: string;
  spans: ReceivedSpan[];
  requests: { path: string; type: string | null }[];
  /** What it answers from now on. */
  status: number;
  stop(): Promise<void>;
}

export function openOtlpReceiver(): OtlpReceiver {
  const receiver = { spans: [] as ReceivedSpan[], requests: [] as OtlpReceiver["requests"], status: 200 };
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      const body = new Uint8Array(await request.arrayBuffer());
      const { pathname } = new URL(request.url);
      receiver.requests.push({ path: pathname, type: request.headers.get("content-type") });
      if (receiver.status === 200) receiver.spans.push(...readSpans(body));
      return new Response(null, { status: receiver.status });
    },
  });
  return Object.assign(receiver, {
    url: `http://localhost:${server.port}`,
    stop: () => server.stop(true),
  });
}

/** Fields of a message by their number; a field that is repeated has several. */
type Fields = Map<number, (bigint | Uint8Array)[]>;

/** Reads an ExportTraceServiceRequest of opentelemetry.proto.collector.trace.v1. */
function readSpans(body: Uint8Array): ReceivedSpan[] {
  return messages(fieldsOf(body), 1).flatMap((resource_spans) => {
    const [resource] = messages(resource_spans, 1);
    const service = String(resource ? attributesOf(resource, 1)["service.name"] : "");
    const scopes = messages(resource_spans, 2);
    return scopes.flatMap((scope) => messages(scope, 2).map((span) => spanOf(span, service)));
  });
}

function spanOf(span: Fields, service: string): ReceivedSpan {
  const [status] = messages(span, 15);
  return {
    name: text(span, 5),
    trace: hex(span, 1),
    id: hex(span, 2),
    parent: hex(span, 4),
    kind: Number(span.get(6)?.[0] ?? 0),
    attributes: attributesOf(span, 9),
    failed: status?.get(3)?.[0] === 2n,
    service,
  };
}

function attributesOf(fields: Fields, number: number): ReceivedSpan["attributes"] {
  return Object.fromEntries(
    messages(fields, number).map((pair) => {
      const [value = new Map()] = messages(pair, 2);
      if (value.has(1)) return [text(pair, 1), text(value, 1)];
      if (value.has(2)) return [text(pair, 1), value.get(2)?.[0] === 1n];
      return [text(pair, 1), Number(value.get(3)?.[0] ?? Number.NaN)];
    }),
  );
}

const bytesOf = (fields: Fields, number: number) =>
  (fields.get(number) ?? []).filter((value) => value instanceof Uint8Array);
const messages = (fields: Fields, number: number) => bytesOf(fields, number).map(fieldsOf);
const text = (fields: Fields, number: number) =>
  new TextDecoder().decode(bytesOf(fields, number)[0] ?? new Uint8Array());
const hex = (fields: Fields, number: number) => bytesOf(fields, number)[0]?.toHex() ?? "";

/** The wire format of protobuf: varints, 64 bits, bytes and 32 bits. */
function fieldsOf(bytes: Uint8Array): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const take = (size: number) => bytes.subarray(at, (at += size));
  const varint = (): bigint => {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const byte = BigInt(bytes[at++] ?? 0);
      value |= (byte & 127n) << shift;
      if (byte < 128n) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(varint());
    const type = key & 7;
    const value = type === 0 ? varint() : take(type === 1 ? 8 : type === 5 ? 4 : Number(varint()));
    fields.set(key >> 3, [...(fields.get(key >> 3) ?? []), value]);
  }
  return fields;
}
