import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { readConfig } from "../../src/core/config.ts";
import { openSecrets } from "../../src/core/secret_box.ts";

const PLACE = "configs/7/key";
const [old_key, new_key] = [randomBytes(32), randomBytes(32)];

describe("secrets", () => {
  test("come back as they were, sealed anew each time, and stand nowhere in what is stored", () => {
    const secrets = openSecrets([new_key]);
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 8 }), fc.string(), (secret, place) => {
        const [one, other] = [secrets.seal(secret, place), secrets.seal(secret, place)];
        expect(secrets.open(one, place)).toBe(secret);
        expect(one).not.toBe(other);
        const bytes = Buffer.from(one.split(".")[2] ?? "", "base64url");
        expect(bytes.includes(Buffer.from(secret, "utf8"))).toBe(false);
      }),
      { numRuns: 200 },
    );
  });

  test("do not open in another place, or after any one bit was changed", () => {
    const secrets = openSecrets([new_key]);
    const sealed = secrets.seal("the key", PLACE);
    expect(() => secrets.open(sealed, "configs/8/key")).toThrow("changed or moved");
    const [version, name, text = ""] = sealed.split(".");
    const bytes = Buffer.from(text, "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => secrets.open([version, name, changed.toString("base64url")].join("."), PLACE)).toThrow();
    }
    for (const broken of ["", "v1", `${version}.${name}.`, `v2.${name}.${text}`, `${version}.${name}.AAAA`]) {
      expect(() => secrets.open(broken, PLACE)).toThrow("Cannot open a stored secret");
    }
  });

  test("are opened by an older key and sealed by the newest; without their key they stay shut", () => {
    const before = openSecrets([old_key]).seal("the key", PLACE);
    const rotated = openSecrets([new_key, old_key]);
    expect(rotated.open(before, PLACE)).toBe("the key");
    const after = rotated.seal("the key", PLACE);
    expect(openSecrets([new_key]).open(after, PLACE)).toBe("the key");
    expect(() => openSecrets([new_key]).open(before, PLACE)).toThrow("no longer holds the key");
    expect(() => openSecrets([old_key]).open(after, PLACE)).toThrow("no longer holds the key");
  });

  test("are sealed anew by the newest key, once", () => {
    const before = openSecrets([old_key]).seal("the key", PLACE);
    const rotated = openSecrets([new_key, old_key]);
    const resealed = rotated.reseal(before, PLACE) ?? "";
    expect(openSecrets([new_key]).open(resealed, PLACE)).toBe("the key");
    expect(rotated.reseal(resealed, PLACE)).toBeNull();
    expect(() => openSecrets([new_key]).reseal(before, PLACE)).toThrow("no longer holds the key");
    expect(() => openSecrets(null).reseal(before, PLACE)).toThrow("no longer holds the key");
  });

  test("can't be kept without a key, and that is said", () => {
    const none = openSecrets(null);
    expect(none.can_seal).toBe(false);
    expect(() => none.seal("the key", PLACE)).toThrow("SECRETS_KEY");
  });
});

describe("SECRETS_KEY", () => {
  const keysOf = (text: string) => readConfig({ SECRETS_KEY: text }).secrets_keys;

  test.each([
    ["base64", old_key.toString("base64")],
    ["base64 for addresses", old_key.toString("base64url")],
    ["hexadecimal digits", old_key.toString("hex")],
    ["capital hexadecimal digits", old_key.toString("hex").toUpperCase()],
  ])("is read from %s", (_, text) => {
    expect(keysOf(text)?.map((key) => Buffer.from(key).toString("hex"))).toEqual([old_key.toString("hex")]);
  });

  test("may name an older key", () => {
    expect(keysOf(`${new_key.toString("hex")},${old_key.toString("base64")}`)).toHaveLength(2);
    expect(keysOf("")).toBeNull();
  });

  test.each([
    ["short", randomBytes(31).toString("base64")],
    ["long", randomBytes(33).toString("base64")],
    ["a password", "correct horse battery staple"],
    ["three", [1, 2, 3].map(() => randomBytes(32).toString("hex")).join(",")],
    ["an empty second", `${randomBytes(32).toString("hex")},`],
  ])("is refused when it is %s", (_, text) => {
    expect(() => keysOf(text)).toThrow("SECRETS_KEY must be 32 bytes");
  });
});

describe("FPX_URL", () => {
  test.each(["https://scheme.example.com", "http://127.0.0.1:9999", "http://localhost:9", "http://[::1]:9"])(
    "may be %s",
    (url) => expect(readConfig({ FPX_URL: url }).fpx_url).toBe(url),
  );
  test.each([
    "http://scheme.example.com",
    "http://127.0.0.1.example.com",
    "ftp://scheme.example.com",
    "https://scheme.example.com/path",
    "scheme.example.com",
  ])("may not be %s", (url) => expect(() => readConfig({ FPX_URL: url })).toThrow("FPX_URL must be"));
});
