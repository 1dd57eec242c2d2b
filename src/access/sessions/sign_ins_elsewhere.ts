import { countInstances, type Instances } from "../../app/instances.ts";
import type { Clock } from "../../core/time.ts";
import type { Store } from "../../store/store.ts";
import { insertCounts, listCountsOfOthers } from "./count_queries.ts";
import { NO_OTHER_SIGN_INS, type SignInsElsewhere } from "./login_throttle.ts";
import type { Tokens } from "../../app/credentials.ts";

/** Tells other instances of sign-ins, and hears of theirs, by rows that name nobody; alone it tells nobody. */
export function openSignInsElsewhere(
  instances: Instances,
  { store, clock, tokens }: { store: Store; clock: Clock; tokens: Pick<Tokens, "mac"> },
): SignInsElsewhere {
  if (instances.url === null) return NO_OTHER_SIGN_INS;
  const { id } = instances;
  const hashOf = (key: string) => tokens.mac("sign-in count", key);
  return {
    count: () => countInstances(instances),
    async read(keys) {
      const byHash = new Map(keys.map((key) => [hashOf(key), key]));
      const found = await listCountsOfOthers(store.read, id, [...byHash.keys()], clock.now());
      return new Map(
        found.map(({ key_hash, count, first_end }) => [
          byHash.get(key_hash) ?? "",
          { count, free_at_ms: first_end.epochMilliseconds },
        ]),
      );
    },
    async add(counted) {
      const now = clock.now();
      const rows = counted.map(({ key, seconds }) => ({
        key_hash: hashOf(key),
        until: now.add({ seconds }),
      }));
      await store.tx((q) => insertCounts(q, id, rows));
    },
  };
}
