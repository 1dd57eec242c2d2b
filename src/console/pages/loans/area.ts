export { ApplicationPage } from "./application.tsx";
export { ApplicationsPage } from "./applications.tsx";
export { ConsentTextsPage } from "./consent_texts.tsx";
export { ProgramsPage } from "./programs.tsx";
