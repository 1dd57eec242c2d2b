import { signal } from "@preact/signals";

/** Whether the service has another build of the console than this tab: it should be loaded again. */
export const isOutdated = signal(false);

const build = document.querySelector<HTMLMetaElement>('meta[name="build"]')?.content;

/** Compares the build's id of an answer with this tab's. */
export function noticeBuild(id: string | null): void {
  if (id !== null && build !== undefined && id !== build) isOutdated.value = true;
}
