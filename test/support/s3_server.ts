/** A bucket in memory: the S3 requests that Bun's client sends or signs, refused where they carry no signature. */
export interface S3Server {
  readonly url: string;
  readonly objects: Map<string, Uint8Array>;
  /** When an object was written, where it is not long ago. */
  readonly modified: Map<string, string>;
  /** Parts of uploads that came in, by size: those of one upload in any order. */
  readonly parts: number[];
  /** Whether nothing is answered as it should be. */
  is_gone: boolean;
  /** Called with each request that writes, before it does; what it returns is the answer in its place. */
  onWrite: (request: Request) => Response | undefined | Promise<Response | undefined>;
  /** The same of each request that reads an object. */
  onRead: S3Server["onWrite"];
  stop(): Promise<void>;
}

export function startS3(): S3Server {
  const objects = new Map<string, Uint8Array>();
  const modified = new Map<string, string>();
  const uploads = new Map<string, { key: string; parts: Map<number, Uint8Array> }>();
  const parts: number[] = [];
  const xml = (text: string) => new Response(text, { headers: { "content-type": "application/xml" } });
  const missing = () => new Response("<Error><Code>NoSuchKey</Code></Error>", { status: 404 });

  async function upload(request: Request, url: URL, key: string): Promise<Response> {
    const id = url.searchParams.get("uploadId");
    if (id === null) {
      const UploadId = crypto.randomUUID();
      uploads.set(UploadId, { key, parts: new Map() });
      return xml(
        `<InitiateMultipartUploadResult><UploadId>${UploadId}</UploadId></InitiateMultipartUploadResult>`,
      );
    }
    const found = uploads.get(id);
    if (!found) return missing();
    if (request.method === "PUT") {
      const part = new Uint8Array(await request.arrayBuffer());
      found.parts.set(Number(url.searchParams.get("partNumber")), part);
      parts.push(part.length);
      return new Response(null, { headers: { etag: `"${found.parts.size}"` } });
    }
    uploads.delete(id);
    if (request.method === "POST") {
      const whole = [...found.parts].toSorted(([a], [b]) => a - b).map(([, part]) => part);
      objects.set(key, Buffer.concat(whole));
      return xml('<CompleteMultipartUploadResult><ETag>"done"</ETag></CompleteMultipartUploadResult>');
    }
    return new Response(null, { status: 204 });
  }

  function list(url: URL): Response {
    const prefix = url.searchParams.get("prefix") ?? "";
    const after = url.searchParams.get("continuation-token") ?? "";
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).toSorted();
    const page = keys.slice(0, 2);
    const is_truncated = keys.length > page.length;
    const contents = page.map(
      (key) =>
        `<Contents><Key>${key}</Key><Size>${objects.get(key)?.length}</Size><LastModified>${modified.get(key) ?? "2020-01-01T00:00:00.000Z"}</LastModified></Contents>`,
    );
    const next = is_truncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
    return xml(
      `<ListBucketResult><Name>bucket</Name><IsTruncated>${is_truncated}</IsTruncated>${next}${contents.join("")}</ListBucketResult>`,
    );
  }

  const state: Pick<S3Server, "is_gone" | "onWrite" | "onRead"> = {
    is_gone: false,
    onWrite: () => undefined,
    onRead: () => undefined,
  };
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      if (state.is_gone) return new Response("<Error><Code>AccessDenied</Code></Error>", { status: 403 });
      const signature =
        request.headers.get("authorization") ?? `AWS4-HMAC-SHA256 ${new URL(request.url).search}`;
      const is_signed = /^AWS4-HMAC-SHA256 .*Signature=[0-9a-f]{64}\b/.test(signature);
      if (!is_signed) return new Response("<Error><Code>AccessDenied</Code></Error>", { status: 403 });
      if (request.method !== "GET" && request.method !== "HEAD") {
        const refused = await state.onWrite(request);
        if (refused) return refused;
      }
      const url = new URL(request.url);
      const key = decodeURIComponent(url.pathname).replace(/^\/bucket\/?/, "");
      if (key === "") return list(url);
      if (url.searchParams.has("uploadId") || url.searchParams.has("uploads"))
        return upload(request, url, key);
      if (request.method === "PUT") {
        objects.set(key, new Uint8Array(await request.arrayBuffer()));
        return new Response(null, { headers: { etag: '"whole"' } });
      }
      if (request.method === "DELETE") {
        objects.delete(key);
        return new Response(null, { status: 204 });
      }
      const instead = await state.onRead(request);
      if (instead) return instead;
      const object = objects.get(key);
      return object === undefined ? missing() : new Response(object.slice());
    },
  });
  const url = `http://localhost:${server.port}`;
  return Object.assign(state, { url, objects, modified, parts, stop: () => server.stop(true) });
}
