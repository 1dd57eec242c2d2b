import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { isOutdated } from "../api/build.ts";
import { Button } from "../ui/button.tsx";
import { words } from "../ui/names.ts";
import { Page } from "../ui/page.tsx";
import { Skeleton } from "../ui/states.tsx";
import { AREAS } from "./areas.ts";
import { findAnyPage, findPage, firstPath } from "./find_page.ts";
import type { Page as PageRow, PageProps } from "./pages.ts";
import { me } from "./session.ts";

/** The page of an address: loaded with its area, or why there is none. */
export function ShownPage({ path }: { path: string }) {
  const found = findPage(path);
  const [loaded, setLoaded] = useState<{ path: string; Component: ComponentType<PageProps> | undefined }>();
  useEffect(() => {
    if (found === undefined) return undefined;
    let is_wanted = true;
    const { page } = found;
    // Until the page names its record.
    document.title = `${page.title} – Meterhouse`;
    const show = (Component: ComponentType<PageProps> | undefined) => {
      if (is_wanted) setLoaded({ path: page.path, Component });
    };
    AREAS[page.area]().then(
      (area) => show(area[page.component]),
      () => {
        // A newer build has other chunks.
        isOutdated.value = true;
        show(undefined);
      },
    );
    return () => {
      is_wanted = false;
    };
  }, [found?.page.path]);
  if (found === undefined) return <NotFound key={path} page={findAnyPage(path)?.page} />;
  if (loaded?.path !== found.page.path) return <Skeleton rows={6} />;
  if (loaded.Component === undefined) return <NotShown title="This page could not be loaded" />;
  const { Component } = loaded;
  // Another record is another page: nothing of the one before stays.
  return (
    <Bounded key={path}>
      <Component params={found.params} />
    </Bounded>
  );
}

/** What goes wrong in a page stays in it: the rest can still be used. */
export function Bounded({ children }: { children: ComponentChildren }) {
  const [error] = useErrorBoundary((thrown) => console.error(thrown));
  return error ? <NotShown title="This page cannot be shown" error={String(error)} /> : <>{children}</>;
}

/** In place of a page that there is not, or that one may not see. */
function NotFound({ page }: { page: PageRow | undefined }) {
  return (
    <Page title={page ? `You may not see ${page.title}` : "There is no such page"}>
      <p>{page ? whyNot(page) : "The address has a mistake."}</p>
      <p>
        <a href={firstPath()}>Go to the first page</a>
      </p>
    </Page>
  );
}

function whyNot({ audience }: PageRow): string {
  const role = words(me.value?.role ?? "");
  if (audience === "client") return "It is a page of clients' users: they see their own part there.";
  if (role === "client") return "It is a page of the company that bills you.";
  return `The role ${role} does not include it. An admin of the company can give you another role.`;
}

function NotShown({ title, error }: { title: string; error?: string }) {
  return (
    <Page title={title}>
      {error === undefined ? (
        <p>The service has a newer version, or did not answer.</p>
      ) : (
        <p>
          This is a mistake of the console: <code>{error}</code>
        </p>
      )}
      <Button kind="primary" onClick={() => location.reload()}>
        Load again
      </Button>
    </Page>
  );
}
