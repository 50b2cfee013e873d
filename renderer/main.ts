/** Entry of the window: picks the transport, builds the state once and mounts the shell. */
// First, so that the scoped styles of components come after and win.
import './styles/tokens.css';
import './styles/base.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { createClient } from './client/client.ts';
import { AppState } from './state/app.svelte.ts';
import { Connection } from './state/connection.svelte.ts';

const target = document.getElementById('app');
if (target === null) throw new Error('the page has no #app element');

const connection = new Connection();
const app = new AppState(createClient(window, connection), connection);
mount(App, { target, props: { app } });
