export { ErasuresPage } from "./erasures.tsx";
export { EventsPage, ExplorerPage, MyEventsPage, MyExplorerPage } from "./explorer_page.tsx";
export { ImportPage } from "./import.tsx";
export { ImportsPage } from "./imports.tsx";
export { MetadataKeysPage } from "./metadata_keys.tsx";
export { MyViewsPage, ViewsPage } from "./views_page.tsx";
