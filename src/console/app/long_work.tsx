import { signal } from "@preact/signals";
import { isolated } from "../text/isolated.ts";

interface Work {
  id: string;
  title: string;
  /** Where it can be followed. */
  href: string;
  /** "1,200 of 4,000". */
  progress: string;
}

/** What goes on in the service at this user's request; it outlives the page that began it. */
const works = signal<readonly Work[]>([]);

/** Shows or changes a work in the header. */
function showWork(work: Work): void {
  works.value = [...works.value.filter(({ id }) => id !== work.id), work];
}

function endWork(id: string): void {
  works.value = works.value.filter((work) => work.id !== id);
}

/** Looks that failed one after another before a work is given up: it goes on in the service all the same. */
const TRIES = 20;

/** Follows a work each second until it says that it has ended, on whatever page one is meanwhile. */
export async function follow(
  { id, title, href }: Omit<Work, "progress">,
  look: () => Promise<{ progress: string; is_over: boolean }>,
): Promise<void> {
  for (let failed = 0; failed < TRIES; ) {
    const seen = await look().catch(() => undefined);
    failed = seen === undefined ? failed + 1 : 0;
    if (seen?.is_over) break;
    if (seen) showWork({ id, title, href, progress: seen.progress });
    await new Promise((resume) => setTimeout(resume, 1_000));
  }
  endWork(id);
}

/** The works, in the header. */
export function WorkChips() {
  return (
    <div class="works">
      {works.value.map(({ id, title, href, progress }) => (
        <a key={id} class="chip busy" href={href}>
          {isolated(title)} <span class="soft">{progress}</span>
        </a>
      ))}
    </div>
  );
}
