import { z } from 'zod';
import { route, type Answer, type Route } from '../http/mount-routes.ts';
import { docsPage } from './docs-page.ts';
import { openApiOf, type OpenApiDocument } from './open-api-of.ts';
import type { Description } from './operation.ts';

/** An interface's operations, and the two that describe them all: the document and its page, both without a token. */
export function describedRoutes(description: Description, routes: Route[]): Route[] {
  const all: Route[] = [
    ...routes,
    route({
      method: 'get',
      path: '/openapi.json',
      scope: 'none',
      operation: {
        id: 'readDescription',
        tag: 'Description',
        summary: 'Read this description',
        answers: { 200: { description: 'An OpenAPI 3.1 document.', schema: z.looseObject({}) } },
      },
      handle: () => answers().json,
    }),
    route({
      method: 'get',
      path: '/docs',
      scope: 'none',
      operation: {
        id: 'readDescriptionPage',
        tag: 'Description',
        summary: 'Read this description as a page',
        answers: { 200: { description: 'A page of HTML.', schema: z.string(), contentType: 'text/html' } },
      },
      handle: () => answers().page,
    }),
  ];
  let made: { json: Answer; page: Answer } | undefined;
  const answers = () => (made ??= answersOf(descriptionOf(description, all)));
  return all;
}

/** The document of an interface whose routes are those of {@link describedRoutes}. */
export const descriptionOf = (description: Description, described: Route[]): OpenApiDocument =>
  openApiOf(
    {
      ...description,
      tags: { ...description.tags, Description: 'What this interface offers. No token is needed.' },
    },
    described,
  );

const answersOf = (document: OpenApiDocument): { json: Answer; page: Answer } => ({
  json: {
    status: 200,
    body: JSON.stringify(document),
    headers: { 'Content-Type': 'application/json; charset=utf-8' },
  },
  page: {
    status: 200,
    body: docsPage(document),
    headers: { 'Content-Type': 'text/html; charset=utf-8' },
  },
});
