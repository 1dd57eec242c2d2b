import type { DiskReserve } from "../core/disk_reserve.ts";
import type { Store } from "./store.ts";

/** A store whose transactions wait for room on the disk. */
export function keepReserve(store: Store, disk: DiskReserve): Store {
  return {
    ...store,
    async tx(work) {
      disk.check();
      return store.tx(work);
    },
  };
}
