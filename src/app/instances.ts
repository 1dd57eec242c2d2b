/** One process of several that work on the same database. */
export interface Instance {
  /** Made anew at each start. */
  id: string;
  /** Where the others reach it: the setting INSTANCE_URL. */
  url: string;
  version: string;
}

/** Who works on the database: this process alone, or several that know of one another. */
export interface Instances {
  /** This process, by an id that is made anew at each start. */
  readonly id: string;
  /** Where others reach this process; null where it is the only one. */
  readonly url: string | null;
  /** The others that live, as they were last seen. */
  readonly others: readonly Instance[];
  /** Makes this process known to the others, and looks for them from now on. */
  begin(): Promise<void>;
  /** Tells the others that this process has ended. */
  end(): Promise<void>;
}

/** How many instances share what one may do alone. */
export const countInstances = ({ others }: Pick<Instances, "others">): number => others.length + 1;

/** This instance's share of a limit that all have together, rounded up. */
export const shareOf = (instances: Pick<Instances, "others">, limit: number): number =>
  Math.ceil(limit / countInstances(instances));

/** The process that has its database to itself. */
export function onlyInstance(id: string): Instances {
  return {
    id,
    url: null,
    others: [],
    begin: async () => undefined,
    end: async () => undefined,
  };
}
