import { availableParallelism, cpus, release, totalmem, type } from "node:os";
import type { Measured } from "./stats.ts";

/** Lines of cells as a markdown table; the first is its head. */
export function printTable(lines: readonly (readonly string[])[]): string {
  const [head = []] = lines;
  const widths = head.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const printed = lines.map(
    (cells) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`,
  );
  printed.splice(1, 0, `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  return printed.join("\n");
}

/** The machine and what runs on it, in one line. */
export function machine(): string {
  return `${hardware()}; ${type()} ${release()}; Bun ${Bun.version}`;
}

/** The machine alone: what figures of another day may be compared by. */
export function hardware(): string {
  const model = cpus()[0]?.model.replaceAll(/\s+/g, " ").trim() ?? "unknown processor";
  const memory_gib = Math.round(totalmem() / 2 ** 30);
  return `${model}, ${availableParallelism()} cores, ${memory_gib} GiB`;
}

/** `1234567` → `1,234,567`, to three digits. */
export function round(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en-US");
}

/** Milliseconds to three digits. */
export function ms(value: number): string {
  return value >= 100 ? round(value) : value.toPrecision(value < 1 ? 2 : 3);
}

/** How a latency compares with another: `1.30 × (+ 2.40 ms)`. */
export function latencyRatio(subject_ms: number, peer_ms: number): string {
  const more_ms = subject_ms - peer_ms;
  return `${factor(subject_ms / peer_ms)} × (${more_ms < 0 ? "−" : "+"} ${ms(Math.abs(more_ms))} ms)`;
}

/** The median and the 99th percentile. */
export function spread({ p50_ms, p99_ms }: Measured): string {
  return `${ms(p50_ms)} / ${ms(p99_ms)}`;
}

/** How many times, to two digits after the point, or three below a tenth. */
export function factor(ratio: number): string {
  return ratio.toFixed(ratio < 0.1 ? 3 : 2);
}
