import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { sha256, isSameSecret } from "../../../src/core/random_secrets.ts";
import { redact } from "../../../src/audit/rules.ts";
import { challengeAt } from "../../../src/access/oauth/mcp_address.ts";
import { TOKEN_KINDS } from "../../../src/access/oauth/model.ts";
import {
  addToQuery,
  csrfOf,
  isRedirectUri,
  isRegistered,
  isVerifierOf,
  makeToken,
  pathIn,
} from "../../../src/access/oauth/rules.ts";
import { propertyCases } from "../../support/properties.ts";

const ports = fc.integer({ min: 1, max: 65_535 });
const loopbacks = fc.constantFrom("localhost", "127.0.0.1", "[::1]");
const paths = fc
  .array(fc.stringMatching(/^[a-z0-9._~-]{1,8}$/), { maxLength: 3 })
  .map((parts) => `/${parts.join("/")}`);
const hosts = fc.stringMatching(/^[a-z][a-z0-9]{0,8}\.(com|example)$/);

describe("redirect URIs", () => {
  test("whatever is taken is absolute, has no fragment and no user, and is no script", () => {
    const texts = fc.oneof(
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
      fc.string(),
      fc
        .tuple(fc.stringMatching(/^[a-zA-Z]{1,12}$/), fc.string())
        .map(([scheme, rest]) => `${scheme}:${rest}`),
      fc
        .constantFrom("javascript:", "data:", "JaVaScRiPt://", "\tjavascript:/", "file:/")
        .chain((scheme) => fc.string().map((rest) => scheme + rest)),
    );
    fc.assert(
      fc.property(texts, (text) => {
        fc.pre(isRedirectUri(text));
        const url = new URL(text);
        expect([url.hash, url.username, url.password]).toEqual(["", "", ""]);
        expect(url.protocol).not.toMatch(/^(javascript|data|file|vbscript|blob|about):$/);
        if (url.protocol === "http:") expect(url.hostname).toMatch(/^(localhost|127\.0\.0\.1|\[::1\])$/);
        // What is sent to is what was read: nothing that a parser would drop or bend.
        expect(text).toMatch(/^[\x21-\x7e]+$/);
        expect(text.toLowerCase()).toStartWith(url.protocol);
      }),
      propertyCases(300),
    );
  });

  test("on this machine any port is the same, anywhere else none but the registered one", () => {
    fc.assert(
      fc.property(loopbacks, ports, ports, paths, hosts, (machine, a, b, path, host) => {
        expect(isRegistered([`http://${machine}:${a}${path}`], `http://${machine}:${b}${path}`)).toBe(true);
        expect(isRegistered([`http://${machine}${path}`], `http://${machine}:${b}${path}`)).toBe(true);
        expect(isRegistered([`http://${machine}:${a}${path}`], `http://${machine}:${b}${path}x`)).toBe(false);
        expect(isRegistered([`http://${machine}:${a}${path}`], `https://${machine}:${a}${path}`)).toBe(false);
        expect(isRegistered([`https://${host}:${a}${path}`], `https://${host}:${b}${path}`)).toBe(a === b);
      }),
    );
  });

  test.each([
    ["http://127.0.0.1:1/cb", "http://localhost:1/cb"],
    ["http://127.0.0.1:1/cb", "http://127.0.0.1:1@evil.example/cb"],
    ["http://127.0.0.1/cb", "http://127.0.0.1.evil.example/cb"],
    ["http://localhost/cb", "http://localhost:80:80/cb"],
    ["http://localhost/cb", "http://localhost:80/cb?x=1"],
    ["http://localhost/cb", "http://localhost:80/cb#x"],
    ["https://example.com/cb", "https://example.com/cb/"],
    ["https://example.com/cb", "https://EXAMPLE.com/cb"],
  ])("with %s registered, %s is not", (registered, given) => {
    expect(isRegistered([registered], given)).toBe(false);
  });

  test("what is added to a query can be read again, and what was there stays", () => {
    const values = fc.string({ unit: "grapheme" }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(fc.constantFrom("https://a.example/cb", "x-app://cb/?k=a%20b"), values, (uri, state) => {
        const made = addToQuery(uri, { state, code: null });
        expect(made).toStartWith(uri);
        expect(new URL(made).searchParams.get("state")).toBe(state);
        expect(new URL(made).searchParams.has("code")).toBe(false);
      }),
    );
  });

  test.each([
    ["https://example.com/callback", "example.com"],
    ["http://127.0.0.1:33418/callback", "127.0.0.1:33418"],
    ["cursor://anysphere.cursor-mcp/oauth", "cursor://anysphere.cursor-mcp"],
    ["com.example.app:/oauth", "com.example.app:"],
  ])("a person is shown of %s: %s", (uri, place) => {
    expect(pathIn(uri)).toBe(place);
  });
});

describe("secrets", () => {
  test("PKCE's own example is verified, and nothing near it", () => {
    // RFC 7636, appendix B.
    const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    expect(isVerifierOf(challenge, verifier)).toBe(true);
    expect(isVerifierOf(verifier, verifier)).toBe(false);
    for (const near of [verifier.slice(1), `${verifier}=`, verifier.toUpperCase(), ""])
      expect(isVerifierOf(challenge, near)).toBe(false);
  });

  test("no two are the same, each tells its kind, and the audit log would not keep one", () => {
    for (const kind of TOKEN_KINDS) {
      const made = Array.from({ length: 100 }, () => makeToken(kind));
      expect(new Set(made).size).toBe(100);
      for (const token of made) {
        expect(token).toMatch(/^mh[acr]_[\w-]{43}$/);
        expect(redact({ said: `it is ${token}` })).toEqual({ value: {}, withheld: ["/said"] });
      }
    }
  });

  test("texts are compared whole", () => {
    fc.assert(fc.property(fc.string(), fc.string(), (a, b) => expect(isSameSecret(a, b)).toBe(a === b)));
  });

  test("a CSRF value is of one page in one browser, and is neither", () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), (a, b) => {
        fc.pre(a !== b);
        const value = csrfOf(a, b);
        expect(new Set([value, csrfOf(b, a), csrfOf(a, a), sha256(a), sha256(b)]).size).toBe(5);
      }),
    );
  });
});

test("the challenge speaks of an error only where a token was sent", () => {
  const start =
    'Bearer resource_metadata="https://a.example/.well-known/oauth-protected-resource/api/v1/mcp", scope="mcp:tools"';
  expect(challengeAt("https://a.example", false)).toBe(start);
  expect(challengeAt("https://a.example", true)).toBe(`${start}, error="invalid_token"`);
});
