import { describe, expect, test } from "bun:test";
import { type Api, useService } from "../support/harness.ts";

// Changes that name by If-Match what they were made to: no change of somebody else is lost (RFC 9110, section 13.1.1).

const service = useService({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });

/** A client of this name, and how to read and rename it. */
async function addClient(api: Api, name: string) {
  const { id } = (await api("POST", "/clients", { name })).body.data;
  const path = `/clients/${id}`;
  return {
    read: async () => {
      const { body, headers } = await api("GET", path);
      return { name: String(body.data.name), etag: headers.get("etag") ?? "" };
    },
    rename: (to: string, tag?: string) =>
      api("PUT", path, { name: to }, tag === undefined ? {} : { "if-match": tag }),
    writes: async () =>
      (await api("GET", `/audit-log?operation=update_client&target_type=client&target_id=${id}`)).body.data
        .length,
  };
}

describe("If-Match", () => {
  test("changes a record that is as it was, and refuses one that is not", async () => {
    const { read, rename, writes } = await addClient(service.api, "Acme");
    const before = await read();
    expect(before.etag).toMatch(/^"[\w-]{22}"$/);
    expect((await read()).etag).toBe(before.etag);
    expect((await rename("Acme 2", before.etag)).status).toBe(200);
    const { status, body } = await rename("Acme 3", before.etag);
    expect([status, body]).toEqual([
      412,
      { error: "It was changed since it was read: If-Match names it as it was" },
    ]);
    const after = await read();
    expect(after).toEqual({ name: "Acme 2", etag: expect.not.stringMatching(before.etag) });
    expect(await writes()).toBe(1);
    // Without it the last one wins, as ever.
    expect((await rename("Acme 4")).status).toBe(200);
  });

  test("is a list of tags, or any; what compresses answers on their way may have marked them", async () => {
    const { read, rename } = await addClient(service.api, "Globex");
    const tagNow = async () => (await read()).etag.slice(1, -1);
    const accepted = (tag: string) => [`"x", "${tag}"`, "*", `W/"${tag}"`, `"${tag}-gzip"`, `W/"${tag};br"`];
    for (const i of accepted("").keys()) {
      const tag = accepted(await tagNow())[i];
      expect([tag, (await rename("Globex", tag)).status]).toEqual([tag, 200]);
    }
    const bare = await tagNow();
    for (const tag of ["", `"x"`, bare, `"${bare}x"`, `"${bare}`, `W/"y", "z"`, "**"])
      expect([tag, (await rename("Other", tag)).status]).toEqual([tag, 412]);
    expect((await read()).name).toBe("Globex");
  });

  test("says of a record that is not there that it is not", async () => {
    const path = "/clients/999999";
    expect((await service.api("PUT", path, { name: "X" }, { "if-match": `"x"` })).status).toBe(404);
  });

  test("loses none of the changes that many make at once", async () => {
    const { read, rename } = await addClient(service.api, "-");
    const letters = "abcdefghijkl".split("");
    /** Appends a letter to the name as it is: two that do so at once would lose one. */
    const append = async (letter: string): Promise<void> => {
      const { name, etag } = await read();
      const { status } = await rename(name + letter, etag);
      if (status === 412) return append(letter);
      expect(status).toBe(200);
    };
    await Promise.all(letters.map(append));
    expect((await read()).name.split("").toSorted()).toEqual(["-", ...letters]);
  });

  test("is documented of each change that takes it, whose GET has a tag without a query", async () => {
    const { body: document } = await service.anonymous("GET", "origin:/openapi.json");
    const paths = Object.entries<Record<string, { parameters?: { name: string }[]; responses: object }>>(
      document.paths,
    );
    const taking = paths.filter(([, { put }]) => put?.parameters?.some(({ name }) => name === "If-Match"));
    for (const [path, { get, put }] of taking) {
      expect([path, get?.responses]).toEqual([
        path,
        expect.objectContaining({ 200: expect.objectContaining({ headers: { ETag: expect.anything() } }) }),
      ]);
      expect(Object.keys(put?.responses ?? {})).toContain("412");
    }
    // Of these the one instance decides that counts a company's usage, or nothing answers GET there.
    const others = paths.flatMap(([path, { put }]) =>
      put === undefined || taking.some(([taken]) => taken === path) ? [] : [path.replace("/api/v1", "")],
    );
    expect(others.toSorted()).toEqual([
      "/my/subscriptions/{id}/spend-limit",
      "/subscriptions/{id}/add-ons/{bookingId}",
      "/subscriptions/{id}/entitlements/{code}",
      "/subscriptions/{id}/spend-limit",
    ]);
    const { headers } = await service.api("GET", "/company");
    expect(headers.get("etag")).not.toBeNull();
    expect((await service.api("GET", "/webhooks?page=1")).headers.get("etag")).toBeNull();
  });
});
