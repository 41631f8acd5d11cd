"""Common words of notes and of programs in twelve languages and English, so that a question in one language
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
note notiz notizen, file datei, folder ordner verzeichnis, document dokument, page seite, text text,
word wort wörter, line zeile, paragraph absatz, heading überschrift, title titel, name name,
tag schlagwort stichwort, link verknüpfung verweis verlinken verknüpfen, image bild bilder grafik,
photo foto, video video, audio ton audio, record aufnehmen aufnahme aufzeichnen, voice stimme sprache,
attachment anhang anhänge, table tabelle, row reihe, column spalte, list liste, task aufgabe,
checkbox kästchen, date datum, day tag, daily täglich, today heute, week woche, month monat, year jahr,
time zeit uhrzeit, template vorlage, theme thema design, color farbe, font schrift schriftart,
appearance aussehen erscheinungsbild darstellung, language sprache, settings einstellung einstellungen,
hotkey tastenkürzel tastenkombination kurzbefehl, keyboard tastatur, command befehl, search suche suchen,
find finden, filter filtern, sort sortieren, view ansicht, window fenster, tab reiter,
sidebar seitenleiste, layout anordnung, workspace arbeitsbereich, open öffnen, close schließen,
create erstellen anlegen erzeugen, new neu, delete löschen gelöscht, remove entfernen,
restore wiederherstellen zurückholen, recovery wiederherstellung, rename umbenennen, move verschieben,
copy kopieren kopie, paste einfügen, insert einfügen, edit bearbeiten, change ändern anpassen wechseln,
customize anpassen, write schreiben, read lesen, print drucken, export exportieren,
import importieren übernehmen, download herunterladen, upload hochladen, install installieren,
update aktualisieren aktualisierung, version fassung, history verlauf geschichte,
previous frühere vorherige, backup sicherung sichern datensicherung,
sync synchronisieren synchronisation abgleichen, device gerät geräte, phone handy telefon,
computer rechner, account konto, password passwort kennwort, login anmelden,
encryption verschlüsselung verschlüsseln, security sicherheit, privacy datenschutz, share teilen,
collaborate zusammenarbeiten, team mannschaft, company firma unternehmen, license lizenz, price preis,
pay zahlen bezahlen, payment zahlung bezahlung, money geld, refund erstattung rückerstattung,
discount rabatt ermäßigung, student student studenten, free kostenlos, subscription abonnement abo,
plan tarif, storage speicher speicherplatz, limit grenze, publish veröffentlichen,
website webseite webauftritt, plugin erweiterung zusatzmodul, app anwendung, program programm,
formula formel, math mathematik mathematisch, number zahl nummer, count zählen anzahl,
diagram diagramm schaubild, graph graph, map karte landkarte, canvas leinwand,
presentation präsentation vortrag, bookmark lesezeichen, favorite favorit, random zufällig,
outline gliederung, footnote fußnote, quote zitat, comment kommentar, highlight hervorheben markieren,
bold fett, italic kursiv, button knopf schaltfläche, icon symbol, menu menü, mouse maus, drag ziehen,
error fehler, problem problem, help hilfe, question frage, start starten anfangen, first erste,
stop aufhören, disable ausschalten deaktivieren, enable einschalten aktivieren, hide verstecken ausblenden,
show zeigen anzeigen, fold einklappen zuklappen, automatic automatisch, property eigenschaft,
embed einbetten, web netz, translate übersetzen übersetzung, community gemeinschaft, developer entwickler,
private privat, public öffentlich, offline offline, connect verbinden, mobile mobil unterwegs,
side nebeneinander seite, split teilen aufteilen, merge zusammenführen, calendar kalender, email mail,
user benutzer nutzer, data daten, save speichern, store ablegen aufbewahren
""",
    "french": """
note note, file fichier, folder dossier répertoire, document document, page page, text texte, word mot,
line ligne, paragraph paragraphe, heading titre, title titre, name nom, tag étiquette,
link lien lier relier, image image, photo photo, video vidéo, audio audio son,
record enregistrer enregistrement, voice voix, attachment pièce jointe, table tableau, row rangée,
column colonne, list liste, task tâche, checkbox case, date date, day jour, daily quotidien quotidienne,
today aujourd'hui, week semaine, month mois, year année, time heure temps, template modèle, theme thème,
color couleur, font police, appearance apparence, language langue,
settings paramètre paramètres réglage réglages, hotkey raccourci, keyboard clavier, command commande,
search recherche rechercher chercher, find trouver, filter filtrer filtre, sort trier, view vue affichage,
window fenêtre, tab onglet, sidebar barre latérale, layout disposition, workspace espace travail,
open ouvrir, close fermer, create créer, new nouveau nouvelle, delete supprimer supprimé effacer,
remove enlever retirer, restore restaurer récupérer, recovery récupération, rename renommer, move déplacer,
copy copier copie, paste coller, insert insérer, edit modifier éditer, change changer,
customize personnaliser, write écrire, read lire, print imprimer, export exporter, import importer,
download télécharger, upload téléverser, install installer, update mettre jour actualiser, version version,
history historique, previous précédent précédente ancienne, backup sauvegarde sauvegarder,
sync synchroniser synchronisation, device appareil appareils, phone téléphone, computer ordinateur,
account compte, password mot passe, login connexion, encryption chiffrement chiffrer, security sécurité,
privacy confidentialité, share partager, collaborate collaborer, team équipe, company entreprise société,
license licence, price prix, pay payer, payment paiement, money argent, refund remboursement rembourser,
discount réduction remise, student étudiant, free gratuit, subscription abonnement, plan forfait,
storage stockage, limit limite, publish publier, website site, plugin extension greffon module,
app application, program programme logiciel, formula formule, math mathématique maths,
number nombre numéro, count compter, diagram diagramme schéma, graph graphe, map carte,
canvas toile canevas, presentation présentation diaporama, bookmark signet, favorite favori,
random aléatoire hasard, outline plan sommaire, footnote bas, quote citation, comment commentaire,
highlight surligner, bold gras, italic italique, button bouton, icon icône, menu menu, mouse souris,
drag glisser, error erreur, problem problème, help aide, question question, start commencer démarrer,
first premier première, stop arrêter, disable désactiver, enable activer, hide cacher masquer,
show afficher montrer, fold plier replier, automatic automatique, property propriété,
embed intégrer incorporer, web web, translate traduire traduction, community communauté,
developer développeur, private privé, public public, offline hors, connect connecter,
mobile mobile portable, split diviser séparer, merge fusionner, calendar calendrier, email courriel,
user utilisateur, data données, save enregistrer, store stocker stockées conserver
""",
    "spanish": """
note nota apunte, file archivo fichero, folder carpeta, document documento, page página, text texto,
word palabra, line línea, paragraph párrafo, heading encabezado, title título, name nombre, tag etiqueta,
link enlace vínculo enlazar, image imagen, photo foto, video vídeo, audio audio sonido,
record grabar grabación, voice voz, attachment adjunto, table tabla, row fila, column columna, list lista,
task tarea, checkbox casilla, date fecha, day día, daily diaria diario, today hoy, week semana, month mes,
year año, time hora tiempo, template plantilla, theme tema, color color, font fuente letra,
appearance apariencia aspecto, language idioma lengua, settings ajuste ajustes configuración, hotkey atajo,
keyboard teclado, command comando, search búsqueda buscar, find encontrar, filter filtrar filtro,
sort ordenar, view vista, window ventana, tab pestaña, sidebar lateral, layout disposición diseño,
workspace espacio trabajo, open abrir, close cerrar, create crear, new nuevo nueva,
delete borrar borrado eliminar eliminado, remove quitar, restore restaurar recuperar,
recovery recuperación, rename renombrar, move mover, copy copiar copia, paste pegar, insert insertar,
edit editar, change cambiar, customize personalizar, write escribir, read leer, print imprimir,
export exportar, import importar, download descargar, upload subir, install instalar,
update actualizar actualización, version versión, history historial, previous anterior,
backup respaldo respaldar seguridad, sync sincronizar sincronización, device dispositivo,
phone teléfono móvil, computer ordenador computadora, account cuenta, password contraseña, login sesión,
encryption cifrado cifrar, security seguridad, privacy privacidad, share compartir, collaborate colaborar,
team equipo, company empresa, license licencia, price precio, pay pagar, payment pago, money dinero,
refund reembolso devolución, discount descuento, student estudiante, free gratis gratuito,
subscription suscripción, plan plan, storage almacenamiento, limit límite, publish publicar, website sitio,
plugin complemento extensión, app aplicación, program programa, formula fórmula,
math matemática matemáticas, number número, count contar, diagram diagrama esquema, graph grafo, map mapa,
canvas lienzo, presentation presentación diapositiva, bookmark marcador, favorite favorito,
random aleatorio azar, outline esquema índice, footnote pie, quote cita, comment comentario,
highlight resaltar, bold negrita, italic cursiva, button botón, icon icono, menu menú, mouse ratón,
drag arrastrar, error error, problem problema, help ayuda, question pregunta,
start empezar comenzar iniciar, first primera primero, stop parar detener, disable desactivar,
enable activar, hide ocultar esconder, show mostrar, fold plegar contraer, automatic automático,
property propiedad, embed incrustar, web web, translate traducir traducción, community comunidad,
developer desarrollador, private privado, public público, offline sin, connect conectar, mobile móvil,
split dividir, merge fusionar combinar, calendar calendario, email correo, user usuario, data datos,
save guardar, store almacenar guardados
""",
    "italian": """
note nota appunto appunti, file file, folder cartella, document documento, page pagina, text testo,
word parola, line riga, paragraph paragrafo, heading intestazione, title titolo, name nome, tag etichetta,
link collegamento collegare, image immagine, photo foto, video video, audio audio suono,
record registrare registrazione, voice voce, attachment allegato, table tabella, row riga, column colonna,
list elenco lista, task attività compito, checkbox casella, date data, day giorno,
daily giornaliera giornaliero quotidiana, today oggi, week settimana, month mese, year anno,
time ora tempo, template modello, theme tema, color colore, font carattere, appearance aspetto,
language lingua, settings impostazione impostazioni, hotkey scorciatoia scorciatoie, keyboard tastiera,
command comando, search ricerca cercare, find trovare, filter filtrare filtro, sort ordinare, view vista,
window finestra, tab scheda, sidebar laterale, layout disposizione, workspace spazio lavoro, open aprire,
close chiudere, create creare, new nuovo nuova, delete eliminare cancellare cancellato, remove rimuovere,
restore ripristinare recuperare, recovery recupero, rename rinominare, move spostare, copy copiare copia,
paste incollare, insert inserire, edit modificare, change cambiare, customize personalizzare,
write scrivere, read leggere, print stampare, export esportare, import importare, download scaricare,
upload caricare, install installare, update aggiornare aggiornamento, version versione, history cronologia,
previous precedente, backup backup salvataggio, sync sincronizzare sincronizzazione,
device dispositivo dispositivi, phone telefono cellulare, computer computer, account account conto,
password password, login accesso, encryption crittografia cifratura, security sicurezza,
privacy riservatezza, share condividere, collaborate collaborare, team squadra, company azienda,
license licenza, price prezzo, pay pagare, payment pagamento, money soldi denaro, refund rimborso,
discount sconto, student studente, free gratis gratuito, subscription abbonamento, plan piano,
storage spazio archiviazione, limit limite, publish pubblicare, website sito, plugin estensione,
app applicazione, program programma, formula formula, math matematica, number numero, count contare,
diagram diagramma, graph grafo grafico, map mappa, canvas tela, presentation presentazione diapositiva,
bookmark segnalibro, favorite preferito, random casuale caso, outline struttura indice, footnote piè,
quote citazione, comment commento, highlight evidenziare, bold grassetto, italic corsivo, button pulsante,
icon icona, menu menu, mouse mouse, drag trascinare, error errore, problem problema, help aiuto,
question domanda, start iniziare cominciare, first prima primo, stop fermare, disable disattivare,
enable attivare, hide nascondere, show mostrare, fold comprimere, automatic automatico, property proprietà,
embed incorporare, translate tradurre traduzione, community comunità, developer sviluppatore,
private privato, public pubblico, connect collegare connettere, mobile mobile, split dividere, merge unire,
calendar calendario, email posta, user utente, data dati, save salvare, store archiviare conservare
""",
    "portuguese": """
note nota anotação, file arquivo ficheiro, folder pasta, document documento, page página, text texto,
word palavra, line linha, paragraph parágrafo, heading cabeçalho, title título, name nome, tag etiqueta,
link ligação vincular, image imagem, photo foto, video vídeo, audio áudio som, record gravar gravação,
voice voz, attachment anexo, table tabela, row linha, column coluna, list lista, task tarefa,
checkbox caixa, date data, day dia, daily diária diário, today hoje, week semana, month mês, year ano,
time hora tempo, template modelo, theme tema, color cor, font fonte letra, appearance aparência,
language idioma língua, settings configuração configurações ajustes, hotkey atalho, keyboard teclado,
command comando, search pesquisa pesquisar busca buscar procurar, find encontrar, filter filtrar filtro,
sort ordenar, view visualização vista, window janela, tab aba guia, sidebar lateral, layout disposição,
workspace espaço trabalho, open abrir, close fechar, create criar, new novo nova,
delete excluir excluído apagar apagado, remove remover, restore restaurar recuperar, recovery recuperação,
rename renomear, move mover, copy copiar cópia, paste colar, insert inserir, edit editar,
change mudar alterar trocar, customize personalizar, write escrever, read ler, print imprimir,
export exportar, import importar, download baixar, upload enviar, install instalar,
update atualizar atualização, version versão, history histórico, previous anterior, backup backup,
sync sincronizar sincronização, device dispositivo aparelho, phone telefone celular, computer computador,
account conta, password senha, login entrar, encryption criptografia, security segurança,
privacy privacidade, share compartilhar partilhar, collaborate colaborar, team equipe equipa,
company empresa, license licença, price preço, pay pagar, payment pagamento, money dinheiro,
refund reembolso, discount desconto, student estudante, free grátis gratuito, subscription assinatura,
plan plano, storage armazenamento, limit limite, publish publicar, website site,
plugin extensão complemento, app aplicativo aplicação, program programa, formula fórmula, math matemática,
number número, count contar, diagram diagrama, graph grafo gráfico, map mapa, canvas tela quadro,
presentation apresentação, bookmark favorito marcador, random aleatória aleatório, outline sumário,
footnote rodapé, quote citação, comment comentário, highlight destacar, bold negrito, italic itálico,
button botão, icon ícone, menu menu, mouse mouse, drag arrastar, error erro, problem problema, help ajuda,
question pergunta, start começar iniciar, first primeira primeiro, stop parar, disable desativar,
enable ativar, hide ocultar esconder, show mostrar exibir, fold recolher dobrar, automatic automático,
property propriedade, embed incorporar, translate traduzir tradução, community comunidade,
developer desenvolvedor, private privado, public público, connect conectar, mobile móvel, split dividir,
merge mesclar juntar, calendar calendário, user usuário, data dados, save salvar guardar, store armazenar
""",
    "dutch": """
note notitie aantekening, file bestand, folder map, document document, page pagina, text tekst, word woord,
line regel, heading kop, title titel, name naam, tag label, link koppeling koppelen,
image afbeelding plaatje, photo foto, audio geluid, record opnemen opname, attachment bijlage, table tabel,
row rij, column kolom, list lijst, task taak, date datum, day dag, daily dagelijks dagelijkse,
today vandaag, template sjabloon, theme thema, color kleur, font lettertype, appearance uiterlijk,
language taal, settings instelling instellingen, hotkey sneltoets, keyboard toetsenbord, command opdracht,
search zoeken, find vinden, sort sorteren, view weergave, window venster, tab tabblad, sidebar zijbalk,
layout indeling, workspace werkruimte, open openen, close sluiten, create maken aanmaken, new nieuw nieuwe,
delete verwijderen verwijderd wissen, restore herstellen terughalen, recovery herstel, rename hernoemen,
move verplaatsen, copy kopiëren, paste plakken, insert invoegen, edit bewerken, change wijzigen veranderen,
customize aanpassen, write schrijven, read lezen, print afdrukken, export exporteren, import importeren,
download downloaden, install installeren, update bijwerken, version versie, history geschiedenis,
backup reservekopie, sync synchroniseren, device apparaat apparaten, phone telefoon, account account,
password wachtwoord, encryption versleuteling, security beveiliging, privacy privacy, share delen,
collaborate samenwerken, company bedrijf, license licentie, price prijs, pay betalen, payment betaling,
money geld, refund terugbetaling restitutie, discount korting, free gratis, subscription abonnement,
storage opslag, publish publiceren, plugin uitbreiding, app toepassing, formula formule, math wiskunde,
number getal nummer, map kaart, presentation presentatie, bookmark bladwijzer, random willekeurig,
outline overzicht, footnote voetnoot, quote citaat, comment opmerking, highlight markeren, bold vet,
italic cursief, button knop, icon pictogram, mouse muis, drag slepen, error fout, problem probleem,
help hulp, question vraag, start beginnen, disable uitschakelen, enable inschakelen, hide verbergen,
show tonen weergeven, fold inklappen, property eigenschap, embed insluiten, translate vertalen,
private privé, connect verbinden, calendar agenda, user gebruiker, data gegevens, save opslaan
""",
    "russian": """
note заметка запись, file файл, folder папка каталог, document документ, page страница, text текст,
word слово, line строка, heading заголовок, title название, name имя, tag тег метка,
link ссылка связь связать, image изображение картинка рисунок, photo фото фотография, video видео,
audio аудио звук, record записать, voice голос, attachment вложение, table таблица, row ряд,
column столбец, list список, task задача, date дата, day день, daily ежедневный ежедневная ежедневные,
today сегодня, template шаблон, theme тема, color цвет, font шрифт, appearance оформление вид,
language язык, settings настройка настройки, hotkey клавиша горячие, keyboard клавиатура, command команда,
search поиск искать, find найти, filter фильтр, sort сортировать сортировка, view просмотр, window окно,
tab вкладка, sidebar панель, layout расположение, workspace пространство, open открыть, close закрыть,
create создать, new новый новая, delete удалить удалённый удалённую, remove убрать,
restore восстановить вернуть, recovery восстановление, rename переименовать, move переместить перенести,
copy копировать копия, paste вставить, insert вставить, edit редактировать,
change изменить поменять сменить, customize настроить, write писать написать, read читать, print печать,
export экспорт экспортировать, import импорт импортировать, download скачать загрузить,
install установить установка, update обновить обновление, version версия, history история,
previous предыдущий предыдущую, backup резервная резервную, sync синхронизация синхронизировать,
device устройство, phone телефон, computer компьютер, account аккаунт учётная, password пароль, login вход,
encryption шифрование, security безопасность, privacy конфиденциальность, share поделиться,
collaborate совместно, team команда, company компания, license лицензия, price цена, pay платить,
payment оплата платёж, money деньги, refund возврат, discount скидка, student студент,
free бесплатно бесплатный, subscription подписка, plan тариф, storage хранилище, limit ограничение,
publish опубликовать публикация, website сайт, plugin плагин расширение, app приложение, program программа,
formula формула, math математика, number число, count количество, diagram диаграмма схема, graph граф,
map карта, canvas холст доска, presentation презентация, bookmark закладка, random случайный случайная,
outline оглавление, footnote сноска, quote цитата, comment комментарий, highlight выделить, bold жирный,
italic курсив, button кнопка, icon значок, menu меню, mouse мышь, drag перетащить, error ошибка,
problem проблема, help помощь, question вопрос, start начать, disable отключить, enable включить,
hide скрыть, show показать, fold свернуть, automatic автоматически, property свойство, embed встроить,
translate перевод перевести, community сообщество, developer разработчик, private приватный,
public публичный, connect подключить, mobile мобильный, split разделить, merge объединить,
calendar календарь, user пользователь, data данные, save сохранить, store хранить хранятся
""",
    "polish": """
note notatka, file plik, folder katalog, page strona, text tekst, word słowo, heading nagłówek,
title tytuł, name nazwa, tag etykieta, link odnośnik łącze, image obraz obrazek, photo zdjęcie,
audio dźwięk, record nagrać nagranie, attachment załącznik, table tabela, list lista, task zadanie,
date data, day dzień, daily codzienny dzienna, today dzisiaj, template szablon, theme motyw, color kolor,
font czcionka, appearance wygląd, language język, settings ustawienie ustawienia, hotkey skrót,
keyboard klawiatura, command polecenie, search szukać wyszukiwanie, find znaleźć, sort sortować,
window okno, tab karta, sidebar panel, layout układ, open otworzyć, close zamknąć,
create utworzyć stworzyć, new nowy nowa, delete usunąć usunięty usuniętą, restore przywrócić odzyskać,
recovery odzyskiwanie, rename zmienić nazwę, move przenieść, copy kopiować kopia, paste wkleić,
edit edytować, change zmienić, write pisać, read czytać, print drukować, export eksportować,
import importować, download pobrać, install zainstalować, update zaktualizować, version wersja,
history historia, backup zapasowa, sync synchronizować synchronizacja, device urządzenie, phone telefon,
account konto, password hasło, encryption szyfrowanie, security bezpieczeństwo, privacy prywatność,
share udostępnić, company firma, license licencja, price cena, pay płacić zapłacić, payment płatność,
money pieniądze, refund zwrot, discount zniżka, free darmowy, subscription subskrypcja, storage pamięć,
publish opublikować, plugin wtyczka, app aplikacja, formula wzór, math matematyka, map mapa,
presentation prezentacja, bookmark zakładka, random losowa, footnote przypis, quote cytat,
comment komentarz, highlight zaznaczyć, bold pogrubienie, error błąd, problem problem, help pomoc,
question pytanie, disable wyłączyć, enable włączyć, hide ukryć, show pokazać, property właściwość,
embed osadzić, translate tłumaczenie, connect połączyć, user użytkownik, data dane, save zapisać
""",
    "turkish": """
note not, file dosya, folder klasör, page sayfa, text metin, word kelime, heading başlık, name ad isim,
tag etiket, link bağlantı, image resim görsel, photo fotoğraf, audio ses, record kaydet kayıt,
attachment ek, table tablo, list liste, task görev, date tarih, day gün, daily günlük, template şablon,
theme tema, color renk, font yazı, appearance görünüm, language dil, settings ayar ayarlar, hotkey kısayol,
keyboard klavye, command komut, search arama aramak, find bulmak, sort sıralamak, window pencere,
tab sekme, open açmak, close kapatmak, create oluşturmak, new yeni, delete silmek silinen,
restore kurtarmak, move taşımak, copy kopyalamak, edit düzenlemek, change değiştirmek, write yazmak,
read okumak, print yazdırmak, export aktarmak, import aktarmak, download indirmek, install yüklemek kurmak,
update güncellemek, version sürüm, history geçmiş, backup yedek yedekleme, sync eşitleme senkronizasyon,
device cihaz, phone telefon, account hesap, password parola şifre, encryption şifreleme, security güvenlik,
privacy gizlilik, share paylaşmak, company şirket, license lisans, price fiyat, pay ödemek, payment ödeme,
money para, refund iade, discount indirim, free ücretsiz, subscription abonelik, storage depolama,
publish yayınlamak, plugin eklenti, app uygulama, math matematik, map harita, presentation sunum,
bookmark imi, random rastgele, footnote dipnot, quote alıntı, comment yorum, error hata, problem sorun,
help yardım, question soru, hide gizlemek, show göstermek, property özellik, translate çeviri,
user kullanıcı, data veri
""",
    "chinese": """
note 笔记 筆記 备忘, file 文件 檔案, folder 文件夹 資料夾, document 文档, page 页面, text 文本 文字,
word 单词 字数, heading 标题, title 标题, name 名称 名字, tag 标签 標籤, link 链接 連結,
image 图片 圖片 图像, photo 照片, video 视频, audio 音频, record 录音 录制, voice 语音, attachment 附件,
table 表格, list 列表, task 任务, date 日期, daily 每日 每天 日记, today 今天, template 模板 模版,
theme 主题, color 颜色, font 字体, appearance 外观, language 语言, settings 设置 設定,
hotkey 快捷键 快捷鍵, keyboard 键盘, command 命令, search 搜索 查找, filter 筛选 过滤, sort 排序,
view 视图, window 窗口, tab 标签页, sidebar 侧边栏, layout 布局, workspace 工作区, open 打开, close 关闭,
create 创建 新建, delete 删除 刪除, restore 恢复 还原, recovery 恢复 找回, rename 重命名, move 移动,
copy 复制, paste 粘贴, insert 插入, edit 编辑, change 更改 修改 更换, customize 自定义, write 写作,
read 阅读, print 打印, export 导出, import 导入 匯入, download 下载, upload 上传, install 安装,
update 更新, version 版本, history 历史, backup 备份, sync 同步, device 设备, phone 手机, computer 电脑,
account 账户 账号, password 密码, login 登录, encryption 加密, security 安全, privacy 隐私,
share 分享 共享, collaborate 协作, team 团队, company 公司, license 许可, price 价格, pay 付费 支付,
payment 付款, refund 退款, discount 折扣 优惠, student 学生, free 免费, subscription 订阅, storage 存储,
limit 限制, publish 发布, website 网站, plugin 插件, app 应用, formula 公式, math 数学, number 数字,
count 统计, diagram 图表, graph 关系图 图谱, map 地图, canvas 白板 画布, presentation 演示 幻灯片,
bookmark 书签, random 随机, outline 大纲, footnote 脚注, quote 引用, comment 注释, highlight 高亮,
bold 粗体, italic 斜体, button 按钮, icon 图标, menu 菜单, mouse 鼠标, drag 拖动 拖放, error 错误,
problem 问题, help 帮助, start 开始, disable 禁用, enable 启用, hide 隐藏, show 显示, fold 折叠,
automatic 自动, property 属性, embed 嵌入, translate 翻译, community 社区, developer 开发者, private 私人,
public 公开, connect 连接, split 拆分, merge 合并, user 用户, data 数据, save 保存, store 存储 储存
""",
    "japanese": """
note ノート メモ, file ファイル, folder フォルダ, document 文書, page ページ, text テキスト,
word 単語 文字数, heading 見出し, title タイトル, name 名前, tag タグ, link リンク, image 画像, photo 写真,
video 動画, audio 音声, record 録音, attachment 添付, table 表, list リスト, task タスク, date 日付,
daily デイリー 毎日 日記, today 今日, template テンプレート, theme テーマ, color 色, font フォント,
appearance 外観 見た目, language 言語, settings 設定, hotkey ホットキー ショートカット,
keyboard キーボード, command コマンド, search 検索, filter フィルタ, sort 並べ替え, view ビュー,
window ウィンドウ, tab タブ, sidebar サイドバー, layout レイアウト, workspace ワークスペース, open 開く,
close 閉じる, create 作成 作る, delete 削除 消し, restore 復元 戻す, recovery 復元 復旧, rename 名前を変,
move 移動, copy コピー, paste 貼り付け, insert 挿入, edit 編集, change 変更, customize カスタマイズ,
write 書く, read 読む, print 印刷, export エクスポート, import インポート 取り込, download ダウンロード,
install インストール, update 更新 アップデート, version バージョン, history 履歴, backup バックアップ,
sync 同期, device デバイス 端末, phone スマホ 電話, computer パソコン, account アカウント,
password パスワード, login ログイン, encryption 暗号化, security セキュリティ, privacy プライバシー,
share 共有, team チーム, company 会社, license ライセンス, price 価格 料金, pay 支払, payment 支払い,
refund 返金, discount 割引, student 学生, free 無料, subscription 購読, storage 容量 ストレージ,
publish 公開, website サイト, plugin プラグイン, app アプリ, formula 数式, math 数学 数式, graph グラフ,
map 地図, canvas キャンバス, presentation プレゼン スライド, bookmark ブックマーク, random ランダム,
outline アウトライン, footnote 脚注, quote 引用, comment コメント, highlight ハイライト, bold 太字,
icon アイコン, menu メニュー, mouse マウス, drag ドラッグ, error エラー, problem 問題, help ヘルプ,
disable 無効, enable 有効, hide 隠す 非表示, show 表示, fold 折りたた, automatic 自動, property プロパティ,
embed 埋め込, translate 翻訳, community コミュニティ, developer 開発者, connect 接続, split 分割,
merge 結合, user ユーザー, data データ, save 保存
""",
    "korean": """
note 노트 메모, file 파일, folder 폴더, document 문서, page 페이지, text 텍스트, word 단어, heading 제목,
title 제목, name 이름, tag 태그, link 링크, image 이미지 그림, photo 사진, video 동영상, audio 오디오,
record 녹음, attachment 첨부, table 표, list 목록, task 할일 작업, date 날짜, daily 일일 매일,
template 템플릿, theme 테마, color 색상, font 글꼴, appearance 모양, language 언어, settings 설정,
hotkey 단축키, keyboard 키보드, command 명령, search 검색, filter 필터, sort 정렬, window 창, tab 탭,
sidebar 사이드바, layout 레이아웃, open 열기, close 닫기, create 만들기 생성, delete 삭제, restore 복원,
recovery 복구, move 이동, copy 복사, paste 붙여넣, insert 삽입, edit 편집, change 변경 바꾸,
customize 사용자, write 쓰기, read 읽기, print 인쇄, export 내보내, import 가져오, download 다운로드,
install 설치, update 업데이트, version 버전, history 기록, backup 백업, sync 동기화, device 기기 장치,
phone 휴대폰, computer 컴퓨터, account 계정, password 비밀번호, login 로그인, encryption 암호화,
security 보안, privacy 개인정보, share 공유, team 팀, company 회사, license 라이선스, price 가격,
payment 결제, refund 환불, discount 할인, student 학생, free 무료, subscription 구독, storage 저장공간,
publish 게시, website 웹사이트, plugin 플러그인, app 앱, formula 수식, math 수학, graph 그래프, map 지도,
canvas 캔버스, presentation 프레젠테이션 슬라이드, bookmark 북마크, random 무작위, outline 개요,
footnote 각주, quote 인용, comment 댓글, highlight 강조, icon 아이콘, menu 메뉴, error 오류, problem 문제,
help 도움, hide 숨기, show 표시, fold 접기, automatic 자동, property 속성, embed 삽입, translate 번역,
community 커뮤니티, developer 개발자, connect 연결, user 사용자, data 데이터, save 저장
""",
}

UNSPACED: Final = ("chinese", "japanese", "korean")
"""Languages whose words are searched for in the whole question, because it has no spaces or its words have
endings attached. Notes in these languages are not found by translation."""

_BEGINNING: Final = 3
"""How many first letters words with the same stem share, so that few stems need to be compared."""

StemInLanguage = Callable[[str, str], str]
"""Returns the stem of a word of a language."""


@lru_cache
def _load(language: str) -> dict[str, tuple[str, ...]]:
    """Returns the words of a language by the English word."""
    if language == "english":
        return {english: (english,) for table in _TABLES for english in _load(table)}
    groups = (group.split() for group in _TABLES.get(language, "").split(","))
    return {words[0]: tuple(map(fold_text, words[1:])) for words in groups if words}


def translate(word: str, language: str, into: str, stem: StemInLanguage) -> tuple[str, ...]:
    """Translates a word, in any form, into another language; all words are folded. If `language` is empty,
    the word may be of any language, but must have the form that the lists have."""
    if into in UNSPACED:
        return ()
    if language:
        known = [
            english for english, words in _load(language).items() if _is_one_of(word, words, language, stem)
        ]
    else:
        known = [
            english
            for other in ("english", *_TABLES)
            if other != into
            for english, words in _load(other).items()
            if word in words
        ]
    return _list_words(known, into)


def _is_one_of(word: str, words: tuple[str, ...], language: str, stem: StemInLanguage) -> bool:
    return word in words or any(
        word[:_BEGINNING] == other[:_BEGINNING] and stem(language, word) == stem(language, other)
        for other in words
    )


def translate_unspaced(text: str, into: str) -> dict[str, tuple[str, ...]]:
    """Returns the words in a text of a language without spaces that have a translation, with the
    translations."""
    folded = fold_text(text)
    found: dict[str, list[str]] = {}
    for language in UNSPACED:
        for english, words in _load(language).items():
            for word in words:
                if word in folded:
                    found.setdefault(word, []).append(english)
    # 文件夹 is a folder, not a file.
    whole = [word for word in found if not any(word != other and word in other for other in found)]
    return {word: others for word in whole if (others := _list_words(found[word], into))}


def _list_words(english: list[str], into: str) -> tuple[str, ...]:
    if into in UNSPACED:
        return ()
    known = _load(into)
    return tuple(dict.fromkeys(word for term in english for word in known.get(term, ())))
