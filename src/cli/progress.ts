import type { Report } from "../server/operator/action.ts";

/** How often a bar on a terminal is drawn anew, and a line is written elsewhere. */
const BAR_MS = 250;
const LINE_MS = 10_000;
const CLEAR_LINE = "\r\u001B[K";

/** Shows how far long work is: a bar on a terminal, elsewhere a line every ten seconds. */
export interface Progress extends Report {
  /** Takes the bar away. */
  end(): void;
}

/** `now`: the title is shown at once; `look` reads how far the work is, where it does not say so by itself. */
interface ProgressOptions {
  now?: boolean;
  look?: () => { share: number | null; text: string };
}

/** For work that is over at once. */
export const SILENT: Report = { progress: () => undefined, line: () => undefined };

/** `title` says what is done; it is written with the first sign of progress, or at once with `now`. */
export function openProgress(title: string, { now = false, look }: ProgressOptions = {}): Progress {
  const is_terminal = process.stderr.isTTY;
  let shown = "";
  let is_titled = false;
  const showTitle = () => {
    if (is_titled) return;
    is_titled = true;
    if (is_terminal) process.stderr.write(`${title}\n`);
    else console.log(title);
  };
  const show = () => {
    if (look !== undefined) {
      const { share, text } = look();
      shown = progressBar(share, text);
    }
    if (shown === "") return;
    if (is_terminal) process.stderr.write(`\r${shown}\u001B[K`);
    else console.log(shown);
  };
  if (now) showTitle();
  const timer = setInterval(show, is_terminal ? BAR_MS : LINE_MS);
  return {
    progress(share, text) {
      showTitle();
      shown = progressBar(share, text);
    },
    line(text) {
      if (is_terminal && shown !== "") process.stderr.write(CLEAR_LINE);
      console.log(text);
    },
    end() {
      clearInterval(timer);
      if (is_terminal && shown !== "") process.stderr.write(CLEAR_LINE);
    },
  };
}

const BAR_WIDTH = 30;

/** `[#########·····] 30 %  300 rows`; without a bar where the share is not known. */
export function progressBar(share: number | null, text: string): string {
  if (share === null) return text;
  const filled = Math.floor(Math.min(share, 1) * BAR_WIDTH);
  const bar = `${"#".repeat(filled)}${"·".repeat(BAR_WIDTH - filled)}`;
  return `[${bar}] ${Math.floor(Math.min(share, 1) * 100)} %  ${text}`;
}
