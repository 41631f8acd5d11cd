"""Common words of notes and of programs in English and other languages, so that a question in one language
finds notes in another. Pure: no I/O.

Between two commas there is an English word and its translations. Words are translated by way of English. A
word that occurs in the notes is never translated: see `concepts`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from vaultbridge.index.fold import fold_text

_TABLES: Final = {
    "german": """
note notiz notizen, file datei, folder ordner verzeichnis, document dokument, page seite, text text, word
wort wörter, line zeile, paragraph absatz, heading überschrift, title titel, name name, tag schlagwort
stichwort, link verknüpfung verweis verlinken verknüpfen, image bild bilder grafik, photo foto, video video,
audio ton audio, record aufnehmen aufnahme aufzeichnen, voice stimme sprache, attachment anhang anhänge,
table tabelle, row reihe, column spalte, list liste, task aufgabe, checkbox kästchen, date datum, day tag,
daily täglich, today heute, week woche, month monat, year jahr, time zeit uhrzeit, template vorlage, theme
thema design, color farbe, font schrift schriftart, appearance aussehen erscheinungsbild darstellung,
language sprache, settings einstellung einstellungen, hotkey tastenkürzel tastenkombination kurzbefehl,
keyboard tastatur, command befehl, search suche suchen, find finden, filter filtern, sort sortieren, view
ansicht, window fenster, tab reiter, sidebar seitenleiste, layout anordnung, workspace arbeitsbereich, open
öffnen, close schließen, create erstellen anlegen erzeugen erstellt, new neu, delete löschen gelöscht
gelöschte löscht, remove entfernen, restore wiederherstellen zurückholen wiederhergestellt zurück, recovery
wiederherstellung, rename umbenennen, move verschieben verschoben verschiebe, copy kopieren kopie, paste
einfügen, insert einfügen, edit bearbeiten, change ändern anpassen wechseln geändert, customize anpassen,
write schreiben, read lesen, print drucken, export exportieren, import importieren übernehmen, download
herunterladen, upload hochladen, install installieren, update aktualisieren aktualisierung, version fassung,
history verlauf geschichte, previous frühere vorherige, backup sicherung sichern datensicherung, sync
synchronisieren synchronisation abgleichen synchronisiert, device gerät geräte, phone handy telefon, computer
rechner, account konto, password passwort kennwort, login anmelden, encryption verschlüsselung verschlüsseln
verschlüsselt, security sicherheit, privacy datenschutz, share teilen geteilt, collaborate zusammenarbeiten,
team mannschaft, company firma unternehmen, license lizenz, price preis, pay zahlen bezahlen, payment zahlung
bezahlung, money geld, refund erstattung rückerstattung, discount rabatt ermäßigung, student student
studenten, free kostenlos, subscription abonnement abo, plan tarif, storage speicher speicherplatz, limit
grenze, publish veröffentlichen veröffentlicht, website webseite webauftritt, plugin erweiterung zusatzmodul,
app anwendung, program programm, formula formel, math mathematik mathematisch, number zahl nummer, count
zählen anzahl, diagram diagramm schaubild, graph graph, map karte landkarte, canvas leinwand, presentation
präsentation vortrag, bookmark lesezeichen, favorite favorit, random zufällig, outline gliederung, footnote
fußnote, quote zitat, comment kommentar, highlight hervorheben markieren, bold fett, italic kursiv, button
knopf schaltfläche, icon symbol, menu menü, mouse maus, drag ziehen, error fehler, problem problem, help
hilfe, question frage, start starten anfangen, first erste, stop aufhören, disable ausschalten deaktivieren,
enable einschalten aktivieren, hide verstecken ausblenden, show zeigen anzeigen, fold einklappen zuklappen,
automatic automatisch, property eigenschaft, embed einbetten, web netz, translate übersetzen übersetzung,
community gemeinschaft, developer entwickler, private privat, public öffentlich, offline offline, connect
verbinden, mobile mobil unterwegs, side nebeneinander seite, split teilen aufteilen, merge zusammenführen,
calendar kalender, email mail, user benutzer nutzer, data daten, save speichern, store ablegen aufbewahren
gespeichert speichert, add hinzufügen ergänzen, alias spitzname, cost kosten kostet, space platz
speicherplatz, vault tresor, domain domain domäne, group gruppe gruppieren, arrangement anordnung anordnen,
size größe, dark dunkel dunkle dunklen, light hell helle, mode modus, section abschnitt, block block, code
code, preview vorschau, browser browser, clip ausschneiden ausschnitt, slow langsam, crash absturz abstürzen,
support unterstützung, invoice rechnung, tax steuer, invite einladen eingeladen, conflict konflikt, lost
verloren, convert umwandeln konvertieren, pin anheften, cell zelle, place ort, mention erwähnung erwähnen,
nested verschachtelt, style stil, type art typ, value wert, cursor mauszeiger, undo rückgängig, duplicate
doppelt duplizieren, permission berechtigung, school schule universität, work arbeit, interface oberfläche,
monitor bildschirm
""",
    "french": """
note note, file fichier, folder dossier répertoire, document document, page page, text texte, word mot, line
ligne, paragraph paragraphe, heading titre, title titre, name nom, tag étiquette, link lien lier relier,
image image, photo photo, video vidéo, audio audio son, record enregistrer enregistrement, voice voix,
attachment pièce jointe, table tableau, row rangée, column colonne, list liste, task tâche, checkbox case,
date date, day jour, daily quotidien quotidienne, today aujourd'hui, week semaine, month mois, year année,
time heure temps, template modèle, theme thème, color couleur, font police, appearance apparence, language
langue, settings paramètre paramètres réglage réglages, hotkey raccourci, keyboard clavier, command commande,
search recherche rechercher chercher, find trouver, filter filtrer filtre, sort trier, view vue affichage,
window fenêtre, tab onglet, sidebar barre latérale, layout disposition, workspace espace travail, open
ouvrir, close fermer, create créer, new nouveau nouvelle, delete supprimer supprimé effacer, remove enlever
retirer, restore restaurer récupérer, recovery récupération, rename renommer, move déplacer, copy copier
copie, paste coller, insert insérer, edit modifier éditer, change changer, customize personnaliser, write
écrire, read lire, print imprimer, export exporter, import importer, download télécharger, upload téléverser,
install installer, update mettre jour actualiser, version version, history historique, previous précédent
précédente ancienne, backup sauvegarde sauvegarder, sync synchroniser synchronisation, device appareil
appareils, phone téléphone, computer ordinateur, account compte, password mot passe, login connexion,
encryption chiffrement chiffrer chiffré chiffrées crypter, security sécurité, privacy confidentialité, share
partager, collaborate collaborer, team équipe, company entreprise société, license licence, price prix, pay
payer, payment paiement, money argent, refund remboursement rembourser, discount réduction remise, student
étudiant, free gratuit, subscription abonnement, plan forfait, storage stockage, limit limite, publish
publier, website site, plugin extension greffon module, app application, program programme logiciel, formula
formule, math mathématique maths, number nombre numéro, count compter, diagram diagramme schéma, graph
graphe, map carte, canvas toile canevas, presentation présentation diaporama, bookmark signet, favorite
favori, random aléatoire hasard, outline plan sommaire, footnote bas, quote citation, comment commentaire,
highlight surligner, bold gras, italic italique, button bouton, icon icône, menu menu, mouse souris, drag
glisser, error erreur, problem problème, help aide, question question, start commencer démarrer, first
premier première, stop arrêter, disable désactiver, enable activer, hide cacher masquer, show afficher
montrer, fold plier replier, automatic automatique, property propriété, embed intégrer incorporer, web web,
translate traduire traduction, community communauté, developer développeur, private privé, public public,
offline hors, connect connecter, mobile mobile portable, split diviser séparer, merge fusionner fusion,
calendar calendrier, email courriel, user utilisateur, data données, save enregistrer, store stocker stockées
conserver, add ajouter, alias surnom, cost coût coûte, space espace place, vault coffre, domain domaine,
group groupe grouper regrouper, arrangement disposition agencement, size taille, dark sombre, light clair,
mode mode, section section, block bloc, code code, preview aperçu, browser navigateur, slow lent lente, crash
plantage planter, support assistance, invoice facture, tax taxe tva impôt, invite inviter, conflict conflit,
lost perdu perdue, convert convertir, pin épingler, cell cellule, place lieu endroit, mention mention
mentionner, nested imbriqué, style style, type type, value valeur, cursor curseur, undo annuler, duplicate
doublon dupliquer, permission autorisation, school école université, work travail, interface interface,
monitor écran
""",
    "spanish": """
note nota apunte, file archivo fichero, folder carpeta, document documento, page página, text texto, word
palabra, line línea, paragraph párrafo, heading encabezado, title título, name nombre, tag etiqueta, link
enlace vínculo enlazar, image imagen, photo foto, video vídeo, audio audio sonido, record grabar grabación,
voice voz, attachment adjunto, table tabla, row fila, column columna, list lista, task tarea, checkbox
casilla, date fecha, day día, daily diaria diario, today hoy, week semana, month mes, year año, time hora
tiempo, template plantilla, theme tema, color color, font fuente letra, appearance apariencia aspecto,
language idioma lengua, settings ajuste ajustes configuración, hotkey atajo, keyboard teclado, command
comando, search búsqueda buscar, find encontrar, filter filtrar filtro, sort ordenar, view vista, window
ventana, tab pestaña, sidebar lateral, layout disposición diseño, workspace espacio trabajo, open abrir,
close cerrar, create crear, new nuevo nueva, delete borrar borrado eliminar eliminado, remove quitar, restore
restaurar recuperar, recovery recuperación, rename renombrar, move mover, copy copiar copia, paste pegar,
insert insertar, edit editar, change cambiar, customize personalizar, write escribir, read leer, print
imprimir, export exportar, import importar, download descargar, upload subir, install instalar, update
actualizar actualización, version versión, history historial, previous anterior, backup respaldo respaldar
seguridad, sync sincronizar sincronización, device dispositivo, phone teléfono móvil, computer ordenador
computadora, account cuenta, password contraseña, login sesión, encryption cifrado cifrar, security
seguridad, privacy privacidad, share compartir, collaborate colaborar, team equipo, company empresa, license
licencia, price precio, pay pagar, payment pago, money dinero, refund reembolso devolución, discount
descuento, student estudiante, free gratis gratuito, subscription suscripción, plan plan, storage
almacenamiento, limit límite, publish publicar, website sitio, plugin complemento extensión, app aplicación,
program programa, formula fórmula, math matemática matemáticas, number número, count contar, diagram diagrama
esquema, graph grafo, map mapa, canvas lienzo, presentation presentación diapositiva, bookmark marcador,
favorite favorito, random aleatorio azar, outline esquema índice, footnote pie, quote cita, comment
comentario, highlight resaltar, bold negrita, italic cursiva, button botón, icon icono, menu menú, mouse
ratón, drag arrastrar, error error, problem problema, help ayuda, question pregunta, start empezar comenzar
iniciar, first primera primero, stop parar detener, disable desactivar, enable activar, hide ocultar
esconder, show mostrar, fold plegar contraer, automatic automático, property propiedad, embed incrustar, web
web, translate traducir traducción, community comunidad, developer desarrollador, private privado, public
público, offline sin, connect conectar, mobile móvil, split dividir, merge fusionar combinar, calendar
calendario, email correo, user usuario, data datos, save guardar, store almacenar guardados, add añadir
agregar, alias apodo, cost costo coste cuesta, space espacio, vault bóveda, domain dominio, group grupo
agrupar, arrangement disposición organización, size tamaño, dark oscuro oscura, light claro clara, mode modo,
section sección, block bloque, code código, preview previsualización, browser navegador, slow lento lenta,
crash bloquea cierra, support soporte, invoice factura, tax impuesto iva, invite invitar, conflict conflicto,
lost perdido perdida perdí, convert convertir, pin fijar anclar, cell celda, place lugar, mention mención
mencionar, nested anidada anidado, style estilo, type tipo, value valor, cursor cursor, undo deshacer,
duplicate duplicar duplicado, permission permiso, school escuela universidad, work trabajo, interface
interfaz, monitor pantalla
""",
    "italian": """
note nota appunto appunti, file file, folder cartella, document documento, page pagina, text testo, word
parola, line riga, paragraph paragrafo, heading intestazione, title titolo, name nome, tag etichetta, link
collegamento collegare, image immagine, photo foto, video video, audio audio suono, record registrare
registrazione, voice voce, attachment allegato, table tabella, row riga, column colonna, list elenco lista,
task attività compito, checkbox casella, date data, day giorno, daily giornaliera giornaliero quotidiana,
today oggi, week settimana, month mese, year anno, time ora tempo, template modello, theme tema, color
colore, font carattere, appearance aspetto, language lingua, settings impostazione impostazioni, hotkey
scorciatoia scorciatoie, keyboard tastiera, command comando, search ricerca cercare, find trovare, filter
filtrare filtro, sort ordinare, view vista, window finestra, tab scheda, sidebar laterale, layout
disposizione, workspace spazio lavoro, open aprire, close chiudere, create creare, new nuovo nuova, delete
eliminare cancellare cancellato, remove rimuovere, restore ripristinare recuperare, recovery recupero, rename
rinominare, move spostare, copy copiare copia, paste incollare, insert inserire, edit modificare, change
cambiare, customize personalizzare, write scrivere, read leggere, print stampare, export esportare, import
importare, download scaricare, upload caricare, install installare, update aggiornare aggiornamento, version
versione, history cronologia, previous precedente, backup backup salvataggio, sync sincronizzare
sincronizzazione, device dispositivo dispositivi, phone telefono cellulare, computer computer, account
account conto, password password, login accesso, encryption crittografia cifratura cifrato crittografato,
security sicurezza, privacy riservatezza, share condividere, collaborate collaborare, team squadra, company
azienda, license licenza, price prezzo, pay pagare, payment pagamento, money soldi denaro, refund rimborso,
discount sconto, student studente, free gratis gratuito, subscription abbonamento, plan piano, storage spazio
archiviazione, limit limite, publish pubblicare, website sito, plugin estensione, app applicazione, program
programma, formula formula, math matematica, number numero, count contare, diagram diagramma, graph grafo
grafico, map mappa, canvas tela, presentation presentazione diapositiva, bookmark segnalibro, favorite
preferito, random casuale caso, outline struttura indice, footnote piè, quote citazione, comment commento,
highlight evidenziare, bold grassetto, italic corsivo, button pulsante, icon icona, menu menu, mouse mouse,
drag trascinare, error errore, problem problema, help aiuto, question domanda, start iniziare cominciare,
first prima primo, stop fermare, disable disattivare, enable attivare, hide nascondere, show mostrare, fold
comprimere, automatic automatico, property proprietà, embed incorporare, translate tradurre traduzione,
community comunità, developer sviluppatore, private privato, public pubblico, connect collegare connettere,
mobile mobile, split dividere, merge unire fondere, calendar calendario, email posta, user utente, data dati,
save salvare, store archiviare conservare, add aggiungere, alias soprannome, cost costo costa, space spazio,
vault cassaforte, domain dominio, group gruppo raggruppare, arrangement disposizione, size dimensione
grandezza, dark scuro scura, light chiaro chiara, mode modalità, section sezione, block blocco, code codice,
preview anteprima, browser browser, slow lento lenta, crash blocca, support assistenza, invoice fattura, tax
tassa imposta iva, invite invitare, conflict conflitto, lost perso persa, convert convertire, pin fissare,
cell cella, place luogo posto, mention menzione citare, nested annidato, style stile, type tipo, value
valore, cursor cursore, undo annullare, duplicate duplicare, permission permesso, school scuola università,
work lavoro, interface interfaccia, monitor schermo
""",
    "portuguese": """
note nota anotação, file arquivo ficheiro, folder pasta, document documento, page página, text texto, word
palavra, line linha, paragraph parágrafo, heading cabeçalho, title título, name nome, tag etiqueta, link
ligação vincular, image imagem, photo foto, video vídeo, audio áudio som, record gravar gravação, voice voz,
attachment anexo, table tabela, row linha, column coluna, list lista, task tarefa, checkbox caixa, date data,
day dia, daily diária diário, today hoje, week semana, month mês, year ano, time hora tempo, template modelo,
theme tema, color cor, font fonte letra, appearance aparência, language idioma língua, settings configuração
configurações ajustes, hotkey atalho, keyboard teclado, command comando, search pesquisa pesquisar busca
buscar procurar, find encontrar, filter filtrar filtro, sort ordenar, view visualização vista, window janela,
tab aba guia, sidebar lateral, layout disposição, workspace espaço trabalho, open abrir, close fechar, create
criar, new novo nova, delete excluir excluído apagar apagado, remove remover, restore restaurar recuperar,
recovery recuperação, rename renomear, move mover, copy copiar cópia, paste colar, insert inserir, edit
editar, change mudar alterar trocar, customize personalizar, write escrever, read ler, print imprimir, export
exportar, import importar, download baixar, upload enviar, install instalar, update atualizar atualização,
version versão, history histórico, previous anterior, backup backup, sync sincronizar sincronização, device
dispositivo aparelho, phone telefone celular, computer computador, account conta, password senha, login
entrar, encryption criptografia criptografado, security segurança, privacy privacidade, share compartilhar
partilhar, collaborate colaborar, team equipe equipa, company empresa, license licença, price preço, pay
pagar, payment pagamento, money dinheiro, refund reembolso, discount desconto, student estudante, free grátis
gratuito, subscription assinatura, plan plano, storage armazenamento, limit limite, publish publicar, website
site, plugin extensão complemento, app aplicativo aplicação, program programa, formula fórmula, math
matemática, number número, count contar, diagram diagrama, graph grafo gráfico, map mapa, canvas tela quadro,
presentation apresentação, bookmark favorito marcador, random aleatória aleatório, outline sumário, footnote
rodapé, quote citação, comment comentário, highlight destacar, bold negrito, italic itálico, button botão,
icon ícone, menu menu, mouse mouse, drag arrastar, error erro, problem problema, help ajuda, question
pergunta, start começar iniciar, first primeira primeiro, stop parar, disable desativar, enable ativar, hide
ocultar esconder, show mostrar exibir, fold recolher dobrar, automatic automático, property propriedade,
embed incorporar, translate traduzir tradução, community comunidade, developer desenvolvedor, private
privado, public público, connect conectar, mobile móvel, split dividir, merge mesclar juntar, calendar
calendário, user usuário, data dados, save salvar guardar, store armazenar, add adicionar acrescentar, alias
apelido, cost custo custa, space espaço, vault cofre, domain domínio, group grupo agrupar, arrangement
disposição arranjo, size tamanho, dark escuro escura, light claro clara, mode modo, section seção secção,
block bloco, code código, preview prévia, browser navegador, slow lento lenta, crash trava, support suporte,
invoice fatura, tax imposto, invite convidar, conflict conflito, lost perdido perdi, convert converter, pin
fixar, cell célula, place lugar, mention menção mencionar, nested aninhada, style estilo, type tipo, value
valor, undo desfazer, duplicate duplicar, permission permissão, school escola universidade, work trabalho,
interface interface, monitor tela
""",
    "dutch": """
note notitie aantekening, file bestand, folder map, document document, page pagina, text tekst, word woord,
line regel, heading kop, title titel, name naam, tag label, link koppeling koppelen, image afbeelding
plaatje, photo foto, audio geluid, record opnemen opname, attachment bijlage, table tabel, row rij, column
kolom, list lijst, task taak, date datum, day dag, daily dagelijks dagelijkse, today vandaag, template
sjabloon, theme thema, color kleur, font lettertype, appearance uiterlijk, language taal, settings instelling
instellingen, hotkey sneltoets, keyboard toetsenbord, command opdracht, search zoeken, find vinden, sort
sorteren, view weergave, window venster, tab tabblad, sidebar zijbalk, layout indeling, workspace werkruimte,
open openen, close sluiten, create maken aanmaken, new nieuw nieuwe, delete verwijderen verwijderd wissen
verwijderde, restore herstellen terughalen, recovery herstel, rename hernoemen, move verplaatsen, copy
kopiëren, paste plakken, insert invoegen, edit bewerken, change wijzigen veranderen, customize aanpassen,
write schrijven, read lezen, print afdrukken, export exporteren, import importeren, download downloaden,
install installeren, update bijwerken, version versie, history geschiedenis, backup reservekopie, sync
synchroniseren, device apparaat apparaten, phone telefoon, account account, password wachtwoord, encryption
versleuteling, security beveiliging, privacy privacy, share delen, collaborate samenwerken, company bedrijf,
license licentie, price prijs, pay betalen, payment betaling, money geld, refund terugbetaling restitutie,
discount korting, free gratis, subscription abonnement, storage opslag, publish publiceren, plugin
uitbreiding, app toepassing, formula formule, math wiskunde, number getal nummer, map kaart, presentation
presentatie, bookmark bladwijzer, random willekeurig, outline overzicht, footnote voetnoot, quote citaat,
comment opmerking, highlight markeren, bold vet, italic cursief, button knop, icon pictogram, mouse muis,
drag slepen, error fout, problem probleem, help hulp, question vraag, start beginnen, disable uitschakelen,
enable inschakelen, hide verbergen, show tonen weergeven, fold inklappen, property eigenschap, embed
insluiten, translate vertalen, private privé, connect verbinden, calendar agenda, user gebruiker, data
gegevens, save opslaan, add toevoegen, alias bijnaam, cost kosten kost, space ruimte, vault kluis, domain
domein, group groep groeperen, arrangement indeling schikking, size grootte, dark donker donkere, light licht
lichte, mode modus, section sectie, block blok, code code, preview voorbeeld, browser browser, slow langzaam
traag, crash vastlopen, support ondersteuning, invoice factuur, tax belasting btw, invite uitnodigen,
conflict conflict, lost verloren kwijt, convert omzetten converteren, pin vastmaken, cell cel, place plaats,
mention vermelding, style stijl, type soort, value waarde, undo ongedaan, duplicate dupliceren, permission
toestemming, school school universiteit, work werk, interface interface, monitor beeldscherm, video video,
voice stem, filter filter filteren, remove verwijderen, upload uploaden, previous vorige, computer computer,
login inloggen aanmelden, team team, student student studenten, plan abonnement, limit limiet, website
website, program programma, count aantal tellen, diagram diagram, graph grafiek graaf, menu menu, automatic
automatisch, community gemeenschap, developer ontwikkelaar, public openbaar, mobile mobiel, split splitsen,
merge samenvoegen, store opgeslagen bewaren
""",
    "russian": """
note заметка запись, file файл, folder папка каталог, document документ, page страница, text текст, word
слово, line строка, heading заголовок, title название, name имя, tag тег метка, link ссылка связь связать,
image изображение картинка рисунок, photo фото фотография, video видео, audio аудио звук, record записать,
voice голос, attachment вложение, table таблица, row ряд, column столбец, list список, task задача, date
дата, day день, daily ежедневный ежедневная ежедневные, today сегодня, template шаблон, theme тема, color
цвет, font шрифт, appearance оформление вид, language язык, settings настройка настройки, hotkey клавиша
горячие, keyboard клавиатура, command команда, search поиск искать, find найти, filter фильтр, sort
сортировать сортировка, view просмотр, window окно, tab вкладка, sidebar панель, layout расположение,
workspace пространство, open открыть, close закрыть, create создать, new новый новая, delete удалить
удалённый удалённую удаленную удаленный, remove убрать, restore восстановить вернуть, recovery
восстановление, rename переименовать, move переместить перенести, copy копировать копия, paste вставить,
insert вставить, edit редактировать, change изменить поменять сменить, customize настроить, write писать
написать, read читать, print печать, export экспорт экспортировать, import импорт импортировать, download
скачать загрузить, install установить установка, update обновить обновление, version версия, history история,
previous предыдущий предыдущую, backup резервная резервную, sync синхронизация синхронизировать, device
устройство, phone телефон, computer компьютер, account аккаунт учётная, password пароль, login вход,
encryption шифрование, security безопасность, privacy конфиденциальность, share поделиться, collaborate
совместно, team команда, company компания, license лицензия, price цена, pay платить, payment оплата платёж,
money деньги, refund возврат, discount скидка, student студент, free бесплатно бесплатный, subscription
подписка, plan тариф, storage хранилище, limit ограничение, publish опубликовать публикация, website сайт,
plugin плагин расширение, app приложение, program программа, formula формула, math математика, number число,
count количество, diagram диаграмма схема, graph граф, map карта, canvas холст доска, presentation
презентация, bookmark закладка, random случайный случайная, outline оглавление, footnote сноска, quote
цитата, comment комментарий, highlight выделить, bold жирный, italic курсив, button кнопка, icon значок, menu
меню, mouse мышь, drag перетащить, error ошибка, problem проблема, help помощь, question вопрос, start
начать, disable отключить, enable включить, hide скрыть, show показать, fold свернуть, automatic
автоматически, property свойство, embed встроить, translate перевод перевести, community сообщество,
developer разработчик, private приватный, public публичный, connect подключить, mobile мобильный, split
разделить, merge объединить, calendar календарь, user пользователь, data данные, save сохранить, store
хранить хранятся, add добавить, alias псевдоним, cost стоимость стоит, space место, vault сейф, domain домен,
group группа группировать, arrangement расстановка, size размер, dark темный темная, light светлый светлая,
mode режим, section раздел, block блок, code код, preview предпросмотр, browser браузер, slow медленно, crash
вылетает сбой, support поддержка, invoice счёт, tax налог, invite пригласить, conflict конфликт, lost потерял
пропала потерянная, convert преобразовать конвертировать, pin закрепить, cell ячейка, place место, mention
упоминание, nested вложенный, style стиль, type тип, value значение, cursor курсор, undo отменить, duplicate
дубликат дублировать, permission разрешение, school школа университет, work работа, interface интерфейс,
monitor экран монитор
""",
    "polish": """
note notatka, file plik, folder katalog, page strona, text tekst, word słowo, heading nagłówek, title tytuł,
name nazwa, tag etykieta, link odnośnik łącze, image obraz obrazek, photo zdjęcie, audio dźwięk, record
nagrać nagranie, attachment załącznik, table tabela, list lista, task zadanie, date data, day dzień, daily
codzienny dzienna, today dzisiaj, template szablon, theme motyw, color kolor, font czcionka, appearance
wygląd, language język, settings ustawienie ustawienia, hotkey skrót, keyboard klawiatura, command polecenie,
search szukać wyszukiwanie, find znaleźć, sort sortować, window okno, tab karta, sidebar panel, layout układ,
open otworzyć, close zamknąć, create utworzyć stworzyć, new nowy nowa, delete usunąć usunięty usuniętą,
restore przywrócić odzyskać, recovery odzyskiwanie, rename zmienić nazwę, move przenieść, copy kopiować
kopia, paste wkleić, edit edytować, change zmienić, write pisać, read czytać, print drukować, export
eksportować, import importować, download pobrać, install zainstalować, update zaktualizować, version wersja,
history historia, backup zapasowa, sync synchronizować synchronizacja, device urządzenie, phone telefon,
account konto, password hasło, encryption szyfrowanie, security bezpieczeństwo, privacy prywatność, share
udostępnić, company firma, license licencja, price cena, pay płacić zapłacić, payment płatność, money
pieniądze, refund zwrot, discount zniżka, free darmowy, subscription subskrypcja, storage pamięć, publish
opublikować, plugin wtyczka, app aplikacja, formula wzór, math matematyka, map mapa, presentation
prezentacja, bookmark zakładka, random losowa, footnote przypis, quote cytat, comment komentarz, highlight
zaznaczyć, bold pogrubienie, error błąd, problem problem, help pomoc, question pytanie, disable wyłączyć,
enable włączyć, hide ukryć, show pokazać, property właściwość, embed osadzić, translate tłumaczenie, connect
połączyć, user użytkownik, data dane, save zapisać, add dodać, alias pseudonim, cost koszt kosztuje, space
miejsce przestrzeń, vault sejf, domain domena, group grupa grupować, size rozmiar, dark ciemny, light jasny,
mode tryb, section sekcja, block blok, code kod, preview podgląd, browser przeglądarka, slow wolno, support
wsparcie, invoice faktura, tax podatek, invite zaprosić, conflict konflikt, lost utracony zgubiony, convert
przekonwertować, pin przypiąć, cell komórka, place miejsce, mention wzmianka, style styl, type typ, value
wartość, undo cofnąć, duplicate duplikat, permission uprawnienie, school szkoła, work praca, interface
interfejs, monitor ekran, document dokument, line linia wiersz, voice głos, row wiersz, column kolumna,
filter filtr filtrować, view widok, remove usunąć, insert wstawić, previous poprzedni, computer komputer,
login logowanie, team zespół, student student, limit limit, website witryna, program program, number liczba,
count liczba, diagram diagram wykres, graph graf, outline konspekt, italic kursywa, button przycisk, icon
ikona, menu menu, mouse mysz, drag przeciągnąć, start zacząć, fold zwinąć, automatic automatycznie, community
społeczność, developer programista, private prywatny, public publiczny, mobile mobilny, split podzielić,
merge połączyć scalić, calendar kalendarz, store przechowywać przechowywane
""",
    "turkish": """
note not, file dosya, folder klasör, page sayfa, text metin, word kelime, heading başlık, name ad isim, tag
etiket, link bağlantı, image resim görsel, photo fotoğraf, audio ses, record kaydet kayıt, attachment ek,
table tablo, list liste, task görev, date tarih, day gün, daily günlük, template şablon, theme tema, color
renk, font yazı, appearance görünüm, language dil, settings ayar ayarlar, hotkey kısayol, keyboard klavye,
command komut, search arama aramak, find bulmak, sort sıralamak, window pencere, tab sekme, open açmak, close
kapatmak, create oluşturmak oluşturulur, new yeni, delete silmek silinen silinir sil, restore kurtarmak
getirme, move taşımak, copy kopyalamak, edit düzenlemek, change değiştirmek değiştirilir değiştir, write
yazmak, read okumak, print yazdırmak, export aktarmak, import aktarmak, download indirmek, install yüklemek
kurmak, update güncellemek, version sürüm, history geçmiş, backup yedek yedekleme, sync eşitleme
senkronizasyon, device cihaz, phone telefon, account hesap, password parola şifre, encryption şifreleme,
security güvenlik, privacy gizlilik, share paylaşmak, company şirket, license lisans, price fiyat, pay
ödemek, payment ödeme, money para, refund iade, discount indirim, free ücretsiz, subscription abonelik,
storage depolama, publish yayınlamak, plugin eklenti, app uygulama, math matematik, map harita, presentation
sunum, bookmark imi, random rastgele, footnote dipnot, quote alıntı, comment yorum, error hata, problem
sorun, help yardım, question soru, hide gizlemek, show göstermek, property özellik, translate çeviri, user
kullanıcı, data veri, add eklemek eklenir ekle, alias takma, cost maliyet, space alan, vault kasa, domain
alan, group grup gruplamak, size boyut, dark koyu karanlık, light açık, mode mod, section bölüm, block blok,
code kod, preview önizleme, browser tarayıcı, slow yavaş, support destek, invoice fatura, tax vergi, invite
davet, conflict çakışma, lost kayıp, convert dönüştürmek, pin sabitlemek, cell hücre, place yer, mention
bahsetme, style stil, type tür, value değer, undo geri, permission izin, school okul, work iş, interface
arayüz, monitor ekran, document belge, line satır, title başlık, video video, voice ses, row satır, column
sütun, filter filtre, view görünüm, sidebar kenar, rename adlandırmak, paste yapıştırmak, insert eklemek,
upload yüklemek, previous önceki, computer bilgisayar, login giriş, team takım ekip, student öğrenci, limit
sınır, website site, program program, formula formül, number sayı, count sayı, diagram diyagram, graph
grafik, outline anahat, highlight vurgulamak, bold kalın, italic italik, button düğme, icon simge, menu menü,
mouse fare, drag sürüklemek, start başlamak, disable kapatmak, enable etkinleştirmek, fold katlamak,
automatic otomatik, embed gömmek, community topluluk, developer geliştirici, private özel, public herkese,
connect bağlamak, mobile mobil, split bölmek, merge birleştirmek, calendar takvim, save kaydetmek, store
saklamak saklanıyor
""",
    "ukrainian": """
note нотатка нотатки нотатку, file файл файли файлу, folder папка папку теку, page сторінка сторінку, tag тег
теги, link посилання, image зображення картинка картинку, table таблиця таблицю, list список, task завдання,
date дата дату, daily щоденні щоденна щоденник, template шаблон шаблони, theme тема тему теми, color колір,
font шрифт, language мова мову, settings налаштування, hotkey клавіші, keyboard клавіатура, search пошук
шукати, find знайти, window вікно вікна, tab вкладка вкладки, open відкрити, create створити, delete видалити
видалену видалений видалені, restore відновити, rename перейменувати, move перемістити, copy копіювати копія,
insert вставити, edit редагувати, change змінити, export експорт експортувати, import імпорт імпортувати,
download завантажити, install встановити, update оновити, version версія версії, history історія, backup
резервна резервну, sync синхронізація синхронізувати, device пристрій пристрої пристроями, phone телефон,
password пароль, encryption шифрування, price ціна, pay платити, refund повернення, discount знижка,
subscription підписка, publish опублікувати, website сайт, plugin плагін плагіни, formula формула, graph
граф, map карта, bookmark закладка, add додати, merge об'єднати, store зберігаються зберігає
""",
    "swedish": """
note anteckning anteckningar, file fil, folder mapp, page sida, word ord, tag etikett tagg, link länk, image
bild, table tabell, list lista, task uppgift, date datum, daily daglig dagliga, template mall, theme tema,
color färg, font typsnitt teckensnitt, language språk, settings inställning inställningar, hotkey genväg
genvägar kortkommando, keyboard tangentbord, search söka sök, find hitta, window fönster, tab flik, open
öppna, create skapa, delete radera raderad raderade, restore återställa, rename döpa, move flytta, copy
kopiera kopia, insert infoga, edit redigera, change ändra ändrar byta, export exportera, import importera,
download hämta, install installera, update uppdatera, version version, history historik, backup
säkerhetskopia säkerhetskopiera, sync synka synkronisera, device enhet, phone telefon, password lösenord,
encryption kryptering, price pris, pay betala, refund återbetalning, discount rabatt, subscription
prenumeration, publish publicera, website webbplats, plugin tillägg insticksmodul, formula formel, graph
graf, map karta, bookmark bokmärke, add lägga, merge slå, store lagra lagras sparas
""",
    "arabic": """
note ملاحظة ملاحظات ملاحظاتي, file ملف ملفات, folder مجلد, page صفحة, tag وسم, link رابط, image صورة صور,
table جدول, list قائمة, task مهمة مهام, date تاريخ, daily يومية, template قالب, theme سمة مظهر, color لون,
font خط, language لغة, settings إعدادات, hotkey اختصار اختصارات, keyboard مفاتيح, search بحث, find أجد,
window نافذة, open فتح, create إنشاء, delete حذف محذوفة محذوف, restore استعادة استرجاع أستعيد, rename تسمية,
move نقل, copy نسخ نسخة, insert إدراج, edit تحرير, change تغيير أغير, export تصدير, import استيراد, install
تثبيت, update تحديث, version إصدار, history سجل, backup احتياطي احتياطية, sync مزامنة, device جهاز أجهزة,
phone هاتف, password مرور, encryption تشفير, price سعر, refund استرداد, discount خصم, subscription اشتراك,
publish نشر, website موقع, plugin إضافة, graph رسم, map خريطة, bookmark إشارة, add إضافة أضيف, merge دمج, app
تطبيق, student طالب طلاب, print طباعة, share مشاركة
""",
}

_BEGINNING: Final = 3
"""How many first letters words with the same stem share, so that few stems need to be compared."""

_SURE_CHARS: Final = 5
"""How long a word must be to be recognized by its stem when its language is not known."""

_COMPOUNDING: Final = frozenset(("german", "dutch", "swedish"))
"""Languages that write a compound as one word."""

_PART_CHARS: Final = 4
"""The shortest part of a compound."""

_JOINTS: Final = ("", "s", "n", "en", "er", "e")
"""What may stand between the parts of a compound."""

StemInLanguage = Callable[[str, str], str]
"""Returns the stem of a word of a language."""


@lru_cache
def _load(language: str) -> dict[str, tuple[str, ...]]:
    """Returns the words of a language by the English word."""
    if language == "english":
        return {english: (english,) for table in _TABLES for english in _load(table)}
    return read_table(_TABLES.get(language, ""))


def read_table(table: str) -> dict[str, tuple[str, ...]]:
    groups = (group.split() for group in table.split(","))
    return {words[0]: tuple(map(fold_text, words[1:])) for words in groups if words}


@lru_cache
def _load_by_beginning(language: str) -> dict[str, list[tuple[str, str]]]:
    """Returns the words of a language, each with the English word, by their first letters."""
    found: dict[str, list[tuple[str, str]]] = {}
    for english, words in _load(language).items():
        for word in words:
            found.setdefault(word[:_BEGINNING], []).append((word, english))
    return found


def translate(word: str, language: str, into: str, stem: StemInLanguage) -> tuple[str, ...]:
    """Translates a word, in any form, into another language; all words are folded. If `language` is empty,
    the word may be of any language."""
    languages = (language,) if language else tuple(other for other in ("english", *_TABLES) if other != into)
    known = [english for other in languages for english in _find(word, other, stem, sure=bool(language))]
    if not known:
        compounding = [other for other in languages if other in _COMPOUNDING]
        known = [english for other in compounding for english in _find_parts(word, other, stem)]
    return list_words(known, into)


def _find(word: str, language: str, stem: StemInLanguage, *, sure: bool = True) -> list[str]:
    """Returns the English words for a word of a language. Unless it is `sure` that the word is of that
    language, a short one must have the form that the list has."""
    alike = _load_by_beginning(language).get(word[:_BEGINNING], ())
    same = [english for other, english in alike if word == other]
    if same or not alike or (not sure and len(word) < _SURE_CHARS):
        return same
    wanted = stem(language, word)
    return [english for other, english in alike if stem(language, other) == wanted]


def _find_parts(word: str, language: str, stem: StemInLanguage) -> list[str]:
    """Returns the English words for the two parts of a compound, if both are known."""
    for at in range(len(word) - _PART_CHARS, _PART_CHARS - 1, -1):
        last = _find(word[at:], language, stem)
        if not last:
            continue
        for joint in _JOINTS:
            first = word[:at].removesuffix(joint)
            if len(first) >= _PART_CHARS and (known := _find(first, language, stem)):
                return known + last
    return []


def list_words(english: list[str], into: str) -> tuple[str, ...]:
    """Returns the words of a language for some English words."""
    known = _load(into)
    return tuple(dict.fromkeys(word for term in english for word in known.get(term, ())))
