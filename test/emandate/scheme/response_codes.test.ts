import { describe, expect, test } from "bun:test";
import { schemeBanks } from "../../../src/emandate/scheme/banks.ts";
import { findResponseCode, resultOf } from "../../../src/emandate/scheme/response_codes.ts";

/** The specification's table, with what is about our own messages told apart. */
const TABLE = {
  success: "00",
  pending: "09 99",
  retriable: "51 79 85 90 96 BB FE OE OF",
  declined: "80 BC 1A 1B 1C 1D 1E 1F 1G 1H 1I 1J 1K 1L 1M",
  account: "14 53 57 58 77 92",
  mandate: "DA DB DC DD DE DF",
  request: "12 13 2A 31 39 47 48 49 50",
  message: "03 05 20 30 46 76 78 98 XB XE XI XS XW",
  duplicate: "45 XN",
};
const ROWS = Object.entries(TABLE).flatMap(([kind, codes]) =>
  codes.split(" ").map((code) => [code, kind] as const),
);

describe("response codes", () => {
  test.each(ROWS)("%s is %s", (code, kind) => {
    const known = findResponseCode(code);
    expect(known?.class).toBe(kind as never);
    expect(known?.message).not.toBe("");
    const { status, is_retriable, is_about_message = false } = resultOf(code);
    const is_pending = kind === "pending" || kind === "duplicate";
    expect(status).toBe(kind === "success" ? "ok" : is_pending ? "pending" : "failed");
    expect(is_retriable).toBe(kind === "retriable");
    expect(is_about_message).toBe(kind === "message");
  });

  test("there are no others: what nobody knows says nothing of the money", () => {
    const letters = Array.from("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    const all = letters.flatMap((a) => letters.map((b) => `${a}${b}`));
    const known = all.filter((code) => findResponseCode(code) !== undefined);
    expect(known.toSorted()).toEqual(ROWS.map(([code]) => code).toSorted());
    expect(resultOf("ZZ")).toMatchObject({ status: "pending", is_retriable: false });
  });
});

test("every bank of the scheme is there once for each kind of account; test banks only where asked for", () => {
  const B2C =
    "ABB0233 ABMB0212 AGRO01 AMBB0209 BIMB0340 BMMB0341 BKRM0602 BOCM01 BSN0601 BCBB0235 CIT0219 HLB0224 HSBC0223 KFH0346 MB2U0227 MBB0228 OCBC0229 PBB0233 RHB0218 SCB0216 UOB0226";
  const B2B1 =
    "ABB0232 ABB0235 ABMB0213 AGRO02 AMBB0208 BMMB0342 BNP003 CIT0218 DBB0199 PBB0234 SCB0215 UOB0227 UOB0228 BCBB0235 BIMB0340 BKRM0602 HLB0224 HSBC0223 KFH0346 MBB0228 OCBC0229 PBB0233 RHB0218";
  const codes = (type: string, with_tests: boolean) =>
    schemeBanks({ with_tests })
      .filter((bank) => bank.type === type)
      .map(({ bank_code }) => bank_code)
      .toSorted();
  expect(codes("B2C", false)).toEqual(B2C.split(" ").toSorted());
  expect(codes("B2B1", false)).toEqual(B2B1.split(" ").toSorted());
  expect(codes("B2C", true)).toEqual([...B2C.split(" "), "TEST0021", "TEST0022", "TEST0023"].toSorted());
});
