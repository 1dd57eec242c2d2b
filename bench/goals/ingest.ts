import { besideRaw, ingestOf, SENDINGS } from "../ingest.ts";
import { RawUsage } from "../raw_usage.ts";
import type { Finding } from "../finding.ts";
import type { Part } from "./part.ts";

/** Ingest over HTTP with all events stored. */
export const ingest: Part = {
  name: "ingest",
  summary: "ingest over HTTP with all events stored, against typed chunks in-process",
  async run(context) {
    const { writer } = context.deployment.companies;
    const raw = await RawUsage.open(context.cleanup);
    const findings: Finding[] = [];
    try {
      for (const sending of SENDINGS) {
        const work = () => besideRaw(context.benchContext(writer), raw, sending);
        findings.push(await context.attempt(ingestOf(sending), work));
      }
      return findings;
    } finally {
      raw.close();
    }
  },
};
