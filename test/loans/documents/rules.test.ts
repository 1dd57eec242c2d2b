import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { LIMITS } from "../../../src/loans/limits.ts";
import { DOCUMENT_STATUSES, type DocumentStatus } from "../../../src/loans/documents/model.ts";
import {
  cleanFileName,
  contentTypeOf,
  DOCUMENT_TRIGGERS,
  type DocumentTrigger,
  downloadName,
  nextStatus,
} from "../../../src/loans/documents/rules.ts";
import { propertyCases } from "../../support/properties.ts";

describe("states", () => {
  /** What docs/loans.md says of documents, pair by pair; what is not here is a 409. */
  const LEADS: Partial<Record<`${DocumentStatus} ${DocumentTrigger}`, DocumentStatus>> = {
    "pending_review verify": "verified",
    "pending_review reject": "rejected",
    "pending_review supersede": "superseded",
    "verified supersede": "superseded",
    "rejected supersede": "superseded",
  };

  const pairs = DOCUMENT_STATUSES.flatMap((status) =>
    DOCUMENT_TRIGGERS.map((trigger) => ({ status, trigger, next: LEADS[`${status} ${trigger}`] })),
  );

  test.each(pairs)("$status, $trigger: $next", ({ status, trigger, next }) => {
    const lead = () => nextStatus({ id: 7, status }, trigger);
    if (next) expect(lead()).toBe(next);
    else expect(lead).toThrow(`Cannot ${trigger} document 7: it is ${status}`);
  });
});

describe("what a file is", () => {
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));

  test.each([
    ["%PDF-1.7", "application/pdf"],
    ["%PDF-", "application/pdf"],
    ["\xff\xd8\xff\xe0", "image/jpeg"],
    ["\xff\xd8\xff", "image/jpeg"],
    ["\x89PNG\r\n\x1a\n", "image/png"],
    ["\x89PNG\n\x1a\n\n", null],
    ["%pdf-1.7", null],
    ["%PDF", null],
    [" %PDF-1.7", null],
    ["\xef\xbb\xbf%PDF-1.7", null],
    ["MZ\x90\x00%PDF-1.7", null],
    ["GIF89a%PDF-", null],
    ["PK\x03\x04", null],
    ["<html>", null],
    ["<svg xmlns", null],
    ["\x7fELF", null],
    ["\xff\xd8", null],
    ["", null],
  ] as const)("%j is %p", (start, type) => {
    expect(contentTypeOf(bytes(start))).toBe(type);
  });
});

describe("what it is called", () => {
  test.each([
    ["payslip.pdf", "payslip.pdf"],
    ["../../etc/passwd", "passwd"],
    ["C:\\fakepath\\scan.png", "scan.png"],
    ["/", ""],
    ["..", ""],
    ["...", ""],
    [".htaccess", "htaccess"],
    ["a\nb\r\u0000c.pdf", "abc.pdf"],
    ["a\u202Efdp.exe", "afdp.exe"],
    ["\u200B\uFEFF", ""],
    ["slip gaji\u00A0\t 2026.pdf", "slip gaji 2026.pdf"],
    ["\u62A5\u544A.pdf", "\u62A5\u544A.pdf"],
    ["e\u0301tat.pdf", "\u00E9tat.pdf"],
    ['a"b<c>d|e?f*g:h.pdf', "a_b_c_d_e_f_g_h.pdf"],
    ["\u{1F600}.png", "\u{1F600}.png"],
    ["\uD800.png", "png"],
    ["name. . ", "name"],
    [`${"x".repeat(500)}.jpeg`, `${"x".repeat(195)}.jpeg`],
    ["y".repeat(500), "y".repeat(200)],
  ])("%j is kept as %j", (sent, kept) => {
    expect(cleanFileName(sent)).toBe(kept);
  });

  test("whatever is sent, the kept name is one folder's entry that can be seen, and stays as it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (sent) => {
        const kept = cleanFileName(sent);
        expect(kept).not.toMatch(/[\\/\p{Cc}\p{Cf}\p{Cs}<>:"|?*]/u);
        expect([".", ".."]).not.toContain(kept);
        expect(Array.from(kept).length).toBeLessThanOrEqual(LIMITS.document_name_length);
        expect(kept.isWellFormed()).toBe(true);
        expect(cleanFileName(kept)).toBe(kept);
      }),
      propertyCases(200),
    );
  });

  test.each([
    ["a.pdf", "application/pdf", "a.pdf"],
    ["A.JPEG", "image/jpeg", "A.JPEG"],
    ["a.exe", "application/pdf", "a.exe.pdf"],
    ["scan", "image/png", "scan.png"],
    ["a.pdf", "image/png", "a.pdf.png"],
  ] as const)("%s, a %s, is sent as %s", (name, type, sent) => {
    expect(downloadName(name, type)).toBe(sent);
  });
});
