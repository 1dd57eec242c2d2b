ALTER TABLE "authorization_requests" ADD COLUMN "scope" text DEFAULT 'mcp:tools' NOT NULL;--> statement-breakpoint
ALTER TABLE "authorizations" ADD COLUMN "scope" text DEFAULT 'mcp:tools' NOT NULL;