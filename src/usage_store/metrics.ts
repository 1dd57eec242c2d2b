import { histogram, histogramBy } from "../core/metrics.ts";

export const commitSeconds = histogram(
  "meterhouse_usage_commit_duration_seconds",
  "Duration of durable commits of usage events, which requests share",
);

export const commitEvents = histogram(
  "meterhouse_usage_commit_events",
  "New events in each commit of usage events",
  [1, 10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 100_000],
);

export const checkpointSeconds = histogram(
  "meterhouse_usage_checkpoint_seconds",
  "Duration of checkpoints, which empty the log of the usage store into its file",
  [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
);

/** The kinds are the methods of the port that ask something. */
export const questionSeconds = histogramBy(
  "meterhouse_usage_question_duration_seconds",
  "Duration of queries of usage, their wait included, by kind",
  "kind",
);
