// What the tests of a run came to, as `bun test --reporter=junit` writes it.

export interface ReportedTest {
  file: string;
  /** After the names of its groups, on one line: `a lock > is another process's too`. */
  name: string;
  outcome: "passed" | "failed" | "skipped";
  seconds: number;
  /** Why it failed, where that is told: lines of text. */
  reason?: string;
}

const TAG = /<(\/?)(testsuite|testcase|failure|error|skipped)\b([^>]*?)(\/?)>/g;

/** The tests of a JUnit report, in its order. */
export function readReport(xml: string): ReportedTest[] {
  const tests: ReportedTest[] = [];
  // The outermost is the file.
  const groups: string[] = [];
  for (const [, end, tag, attributes = "", is_empty] of xml.matchAll(TAG)) {
    const last = tests.at(-1);
    if (tag === "testcase" && end === "") {
      const name = [...groups.slice(1), attribute(attributes, "name")].join(" > ");
      const seconds = Number(attribute(attributes, "time"));
      tests.push({ file: attribute(attributes, "file"), name, outcome: "passed", seconds });
    } else if (tag === "testsuite") {
      if (end !== "") groups.pop();
      else if (is_empty === "") groups.push(attribute(attributes, "name"));
    } else if (tag === "skipped" && last) last.outcome = "skipped";
    else if (tag !== "testcase" && end === "" && last) {
      last.outcome = "failed";
      last.reason ??= unescape(rawAttribute(attributes, "message"));
    }
  }
  return tests;
}

/** An attribute's text, its line breaks as spaces. */
const attribute = (attributes: string, name: string): string =>
  unescape(rawAttribute(attributes, name)).replaceAll(/\s+/g, " ");

const rawAttribute = (attributes: string, name: string): string =>
  new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "";

function unescape(text: string): string {
  return text.replaceAll(/&(?:#(\d+)|#x([\da-f]+)|(lt|gt|quot|apos|amp));/gi, (_, decimal, hex, entity) => {
    if (entity !== undefined) return ENTITIES[entity] ?? "";
    return String.fromCodePoint(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal));
  });
}

const ENTITIES: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
