import { Distribution, type Labels, type Metric, type Reading, type Sample } from "../core/metrics.ts";

/** A metric in the Prometheus text format, version 0.0.4; without values its name, type and help. */
export function metricText({ name, help, type }: Metric, reading: Reading): string {
  const lines = [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`];
  for (const sample of samplesOf(reading)) lines.push(...sampleLines(name, sample));
  return `${lines.join("\n")}\n`;
}

function samplesOf(reading: Reading): Iterable<Sample> {
  if (reading === undefined) return [];
  return typeof reading === "number" ? [{ value: reading }] : reading;
}

function sampleLines(name: string, { labels = {}, value }: Sample): string[] {
  if (!(value instanceof Distribution)) return [line(name, labels, value)];
  let count = 0;
  const buckets = Array.from(value.counts, (in_class, at) => {
    count += in_class;
    const le = String(value.bounds[at] ?? "+Inf");
    return line(`${name}_bucket`, { ...labels, le }, count);
  });
  return [...buckets, line(`${name}_sum`, labels, value.sum), line(`${name}_count`, labels, count)];
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${numberText(value)}`;
}

function numberText(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}

const escapeHelp = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
const escapeLabel = (text: string) => escapeHelp(text).replaceAll('"', '\\"');
