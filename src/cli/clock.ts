import { Type } from "@sinclair/typebox";
import { wrongWords } from "../core/exit_codes.ts";
import { Nothing, strict } from "../core/schema.ts";
import { leaveAcceptance } from "../server/clock_files.ts";
import { describeClock } from "../server/newest_record_queries.ts";
import { action } from "../server/operator/action.ts";
import type { Command } from "./command.ts";
import { perform } from "./perform.ts";

const Shown = strict({ text: Type.String() });

export const showClockAction = action({
  name: "show_clock",
  input: Nothing,
  output: Shown,
  opens: { without_usage: true },
  async run({ store, guards }) {
    const { problem } = guards.clock;
    return { text: `${await describeClock(store)}${problem === null ? "" : `\nHELD: ${problem}`}` };
  },
});

export const acceptClockAction = action({
  name: "accept_clock",
  input: Nothing,
  output: Shown,
  opens: { without_usage: true },
  async run({ config, store }) {
    if (store.dialect === "postgres")
      throw wrongWords(
        "Nothing to accept: the clock of PostgreSQL's server decides; set the one that is wrong",
      );
    const now = Temporal.Now.instant();
    leaveAcceptance(config.data_dir, now);
    const shown = now.toString({ smallestUnit: "second" });
    return { text: `Accepted ${shown}: jobs go on once the clock has been steady for 15 minutes` };
  },
});

export const clock: Command = {
  name: "clock",
  summary: "Show what the clock is compared with, or accept it after it was set",
  help: `Usage: bun src/main.ts clock [accept]

When the clock of the machine moves by more than five minutes, or a start finds records of a later time than it shows,
jobs that write money wait: billing runs, collections, plan changes, deletions. /ready, doctor and the metric
meterhouse_money_held say so.

  clock         shows the time, and what it is compared with
  clock accept  says that the clock is right as it is now; the jobs go on once it has been steady for 15 minutes. It
                works beside a running server, and for a start within five minutes. With PostgreSQL nobody needs to:
                the jobs go on when its server's clock agrees`,
  operands: 1,
  remote: true,
  options: {},
  async run(words) {
    const [what] = words.positionals;
    if (what !== undefined && what !== "accept") throw wrongWords(`No such action: ${what}; known is accept`);
    const { text } = await perform(
      words,
      what === undefined ? showClockAction : acceptClockAction,
      {},
      "Clock",
    );
    console.log(text);
  },
};
