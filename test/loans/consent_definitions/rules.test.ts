import { describe, expect, test } from "bun:test";
import { DEFINITION_STATUSES, type DefinitionStatus } from "../../../src/loans/consent_definitions/model.ts";
import {
  canonicalText,
  DEFINITION_TRIGGERS,
  type DefinitionTrigger,
  nextDefinitionStatus,
  textSha256,
} from "../../../src/loans/consent_definitions/rules.ts";

describe("definitions", () => {
  const LEADS: Partial<Record<`${DefinitionStatus} ${DefinitionTrigger}`, DefinitionStatus>> = {
    "draft edit": "draft",
    "draft publish": "published",
    "published retire": "retired",
  };
  const pairs = DEFINITION_STATUSES.flatMap((status) =>
    DEFINITION_TRIGGERS.map((trigger) => ({ status, trigger, next: LEADS[`${status} ${trigger}`] })),
  );

  test.each(pairs)("$status, $trigger: $next", ({ status, trigger, next }) => {
    const lead = () => nextDefinitionStatus({ id: 7, status }, trigger);
    if (next) expect(lead()).toBe(next);
    else expect(lead).toThrow(`Cannot ${trigger} consent definition 7: it is ${status}`);
  });

  const text = {
    code: "bureau",
    locale: "ms-MY",
    title: "Semakan kredit",
    purpose_text: "Untuk menilai permohonan",
    data_text: 'Rekod "CCRIS" – 5 tahun\n',
    data_categories: ["credit", "identity"],
    audience: "CTOS",
    data_life_days: 2_555,
    validity_days: null,
  };

  test("the text's canonical form is that of the decision, and its hash one that others compute too", () => {
    expect(canonicalText(text)).toBe(
      '{"audience":"CTOS","code":"bureau","data_categories":["credit","identity"],"data_life_days":2555,' +
        '"data_text":"Rekod \\"CCRIS\\" – 5 tahun\\n","locale":"ms-MY","purpose_text":"Untuk menilai permohonan",' +
        '"title":"Semakan kredit","validity_days":null}',
    );
    // printf '%s' '<the line above>' | sha256sum
    expect(textSha256(text)).toBe("98408b643ef071dcc4b9bbcef5fddb6158ed983d2a71200649c222c823834afa");
  });

  test("the hash changes with each field, and with nothing else", () => {
    const hashes = Object.entries(text).map(([name, value]) => {
      const other = Array.isArray(value) ? [...value, "x"] : typeof value === "string" ? `${value}x` : 1;
      return textSha256({ ...text, [name]: other });
    });
    expect(new Set([...hashes, textSha256(text)]).size).toBe(hashes.length + 1);
    const shuffled = Object.fromEntries(Object.entries(text).toReversed()) as typeof text;
    expect(textSha256({ ...shuffled })).toBe(textSha256(text));
  });
});
