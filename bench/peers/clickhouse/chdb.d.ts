/** What is used of the package, which is not installed unless someone wants this peer. */
declare module "chdb" {
  export class Session {
    constructor(folder: string);
    query(sql: string, format?: string): string;
    close(): void;
  }
}
