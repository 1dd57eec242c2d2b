ALTER TABLE `authorization_requests` ADD `scope` text DEFAULT 'mcp:tools' NOT NULL;--> statement-breakpoint
ALTER TABLE `authorizations` ADD `scope` text DEFAULT 'mcp:tools' NOT NULL;